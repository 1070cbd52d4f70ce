// baseline.cpp: one process, eager, run twice with the same seed: the reference for correctness and speed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/text.h"
#include "stages/judge.h"
#include "stages/stage.h"

namespace trainctl::stages {

using report::Finding;
using report::quantity;

namespace {

Finding throughput_is_recorded(const TrialOutcome& outcome) {
  const auto& [trial, end, result, steps] = outcome;
  const int64_t measured = result.steps - trial.warmup_steps;
  const bool met = measured > 0 && result.step.per_s > 0 && result.step.median_ms > 0;
  return finding("throughput_recorded", "throughput is measured after warm-up", met,
                 fmt::format("{}, {} a step, over {} steps after {} of warm-up",
                             quantity(result.step.per_s, result.unit + "/s"),
                             quantity(result.step.median_ms, "ms"), measured, trial.warmup_steps));
}

/// Equal seed, equal threads: every loss and every parameter is equal, bit for bit.  CUDA's atomics may add
/// in any order, so there it is a remark only.
Finding is_repeatable(const TrialOutcome& a, const TrialOutcome& b) {
  const size_t n = std::min(a.steps.size(), b.steps.size());
  size_t equal = 0;
  while (equal < n && a.steps[equal].loss == b.steps[equal].loss) ++equal;
  const bool losses = equal == n && a.steps.size() == b.steps.size();
  const bool hashes = a.result.parameter_hash == b.result.parameter_hash;
  std::string evidence = losses ? fmt::format("{} losses equal bit for bit", n)
                                : fmt::format("losses differ from step {} on", equal);
  evidence += hashes ? ", parameters too" : ", parameters differ";
  const bool required = a.trial.spec.launch.device != spec::Device::kCuda;
  return finding("repeatable", "a second run gives the same", losses && hashes, evidence, required);
}

Finding mfu_is_known(const run::TrialResult& result) {
  const auto mfu = result.step.mfu ? result.step.mfu : result.step.mfu_measured;
  if (!mfu)
    return not_applicable("mfu_known", "MFU",
                          "no peak is known (`metrics.peak_tflops`, `metrics.measure_peak`)");
  return finding(
      "mfu_known", "MFU", true,
      quantity(*mfu, "share") + (result.step.mfu ? " of the data sheet's peak" : " of the measured peak"));
}

double spread(double a, double b) { return a + b > 0 ? std::abs(a - b) / ((a + b) / 2) : 0; }

}  // namespace

std::vector<run::Trial> plan_baseline(const run::Job& job) {
  std::vector<run::Trial> trials;
  for (const char* const name : {"baseline", "baseline-repeat"}) {
    run::Trial trial{.name = name,
                     .dir = job.dir.trial(name),
                     .spec = job.spec,
                     .warmup_steps = job.spec.baseline.warmup_steps};
    spec::JobSpec& spec = trial.spec;
    // The threads stay those of one of the job's processes: that is the device that scaling is measured
    // against.
    spec.launch.nproc_per_node = 1;
    spec.parallel.strategy = spec::Strategy::kNone;
    // The schedule stays that of the whole job, of which these are the first steps.
    if (!spec.schedule.total_steps) spec.schedule.total_steps = spec.train.steps;
    spec.train.steps = spec.baseline.warmup_steps + spec.baseline.steps;
    spec.metrics.tensorboard = false;
    trials.push_back(std::move(trial));
  }
  return trials;
}

void judge_baseline(const run::Job& job, const std::vector<TrialOutcome>& outcomes, report::Report& report) {
  const TrialOutcome& first = outcomes.at(0);
  const TrialOutcome& again = outcomes.at(1);
  report.findings = {
      loss_is_finite(first.steps),
      loss_falls(first.steps),
      gradients_are_finite(first.steps),
      throughput_is_recorded(first),
      device_is_used(first),
      data_keeps_up(first.result, job.spec.baseline.max_data_wait),
      is_repeatable(first, again),
      mfu_is_known(first.result),
  };
  add_speed_figures(first.result, report.figures);
  report.figures.push_back({"spread", "spread", spread(first.result.step.per_s, again.result.step.per_s),
                            "share", "of the throughput between the two runs"});
  report.figures.push_back(
      {"parameters", "model", static_cast<double>(first.result.num_parameters), "parameters", ""});
  report.figures.push_back({"start_s", "start to first step", first.result.start_to_step0_s, "s",
                            fmt::format("load {}, init {}", quantity(first.result.load_s, "s"),
                                        quantity(first.result.init_s, "s"))});
  report.tables.push_back(rank_table(first.result));
  if (first.result.step.data_wait_share > job.spec.baseline.max_data_wait) {
    report.advice.push_back(
        "steps wait for data: raise `data.num_workers` or `data.prefetch`, or move the data to a "
        "faster disk");
  }
}

}  // namespace trainctl::stages
