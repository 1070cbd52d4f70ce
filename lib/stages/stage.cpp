#include "stages/stage.h"

#include <signal.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "launch/root_cause.h"
#include "util/diagnostic.h"

namespace trainctl::stages {

namespace {

constexpr Stage kStages[] = {
    {"baseline", "one process, eager, twice: does it train, how fast, is it repeatable", plan_baseline,
     judge_baseline},
    {"train", "the long run, with all processes", plan_train, judge_train},
};

void fail(report::Report& report, report::Verdict verdict, int exit_code, std::string message) {
  report.verdict = verdict;
  report.exit_code = exit_code;
  report.message = std::move(message);
}

/// Runs one trial; nullopt, with the reason in `report`, where it did not get to its end.
std::optional<TrialOutcome> run_trial(run::Trial trial, launch::Launcher& launcher, report::Report& report) {
  using Status = run::TrialResult::Status;
  launch::GroupEnd end = launcher.run(trial);
  report.wall_s += end.wall_s;
  const auto result = run::read_result(trial.dir);
  const bool stopped_itself = result && result->status == Status::kStopped;
  const auto cause = launch::find_root_cause(end);
  // Survivors of a failure stop well and say so; that does not make it a wish of the user.
  if (end.stop_signal != 0 || (stopped_itself && !cause)) {
    const int signal = end.stop_signal != 0 ? end.stop_signal : SIGTERM;
    std::string message = "stopped by " + launch::signal_name(signal);
    if (result) message += " after " + std::to_string(result->steps) + " steps of " + trial.name;
    fail(report, report::Verdict::kStopped, 128 + signal, message);
    return std::nullopt;
  }
  if (cause) {
    fail(report, report::Verdict::kFailed, launch::exit_code(*cause), launch::render(*cause));
    return std::nullopt;
  }
  if (!result) {
    throw std::logic_error("the workers of " + trial.dir.string() + " ended well, but left no result.json");
  }
  if (result->status == Status::kFailed) {
    fail(report, report::Verdict::kFailed, kExitJob, "error: " + result->message + "\n");
    return std::nullopt;
  }
  auto steps = read_metrics(trial.dir / "metrics.jsonl");
  return TrialOutcome{std::move(trial), std::move(end), *result, std::move(steps)};
}

}  // namespace

std::span<const Stage> all_stages() { return kStages; }

report::Report run_stage(const Stage& stage, const run::Job& job, launch::Launcher& launcher) {
  report::Report report{.stage = stage.name};
  std::vector<TrialOutcome> outcomes;
  for (run::Trial& trial : stage.plan(job)) {
    auto outcome = run_trial(std::move(trial), launcher, report);
    if (!outcome) return report;
    outcomes.push_back(std::move(*outcome));
  }
  stage.judge(job, outcomes, report);
  const bool failed = std::any_of(report.findings.begin(), report.findings.end(), [](const auto& f) {
    return f.required && f.state == report::Finding::State::kNotMet;
  });
  if (failed) fail(report, report::Verdict::kCheckFailed, kExitCheck, "");
  return report;
}

}  // namespace trainctl::stages
