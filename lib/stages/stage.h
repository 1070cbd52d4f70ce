// stage.h: a stage is a plan and a judgement.  It plans trials, the launcher runs them, it judges what they
// showed.  The trainer knows no stages; it runs one trial.
#pragma once

#include <span>
#include <vector>

#include "launch/launcher.h"
#include "report/report.h"
#include "run/job.h"
#include "run/trial.h"
#include "stages/metrics.h"

namespace trainctl::stages {

/// A trial that ran to its end, and what it showed.
struct TrialOutcome {
  run::Trial trial;
  launch::GroupEnd end;
  run::TrialResult result;
  std::vector<StepMetrics> steps;
};

struct Stage {
  const char* name;
  const char* purpose;  // one line, for help texts
  std::vector<run::Trial> (*plan)(const run::Job& job);
  /// Fills findings, figures, tables and advice; the verdict follows from the findings.
  void (*judge)(const run::Job& job, const std::vector<TrialOutcome>& outcomes, report::Report& report);
};

/// In the order in which `trainctl run` runs them.
std::span<const Stage> all_stages();

/// Plans, runs and judges one stage.  What can be expected (a worker dies, a signal asks for the end, a check
/// does not hold) is in the report.  Throws InfraError where workers cannot be started.
report::Report run_stage(const Stage& stage, const run::Job& job, launch::Launcher& launcher);

// baseline.cpp
std::vector<run::Trial> plan_baseline(const run::Job& job);
void judge_baseline(const run::Job& job, const std::vector<TrialOutcome>& outcomes, report::Report& report);
// train.cpp
std::vector<run::Trial> plan_train(const run::Job& job);
void judge_train(const run::Job& job, const std::vector<TrialOutcome>& outcomes, report::Report& report);

}  // namespace trainctl::stages
