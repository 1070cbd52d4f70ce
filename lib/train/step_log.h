// step_log.h: from the tensors of steps to numbers, and from those to the summary of a run.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "device/device.h"
#include "run/trial.h"
#include "train/metrics.h"
#include "train/train_step.h"

namespace trainctl::train {

/// What turns a step's time into rates.
struct Rates {
  double units_per_step = 0;                           // tokens or samples, all ranks
  double flops_per_step = 0;                           // model FLOPs, all ranks
  std::optional<double> spec_tflops, measured_tflops;  // peak of all ranks together
};

/// Steps that are done on the host; on a GPU perhaps not on the device.  A CPU's are read at once, a GPU's in
/// groups: then `step_ms` is the mean of its group, since the host runs ahead of the device.
class StepLog {
 public:
  StepLog(device::Backend& backend, const Rates& rates);
  void start_step();
  void end_step(StepStats stats) { pending_.push_back(std::move(stats)); }

  /// Steps that are done and not yet read.
  const std::vector<StepStats>& pending() const { return pending_; }
  /// Reads all of them; waits for the device.
  std::vector<StepRecord> read();
  /// Did the last steps read ask for a stop (on any rank)?
  bool stop_requested() const { return stop_requested_; }

 private:
  using Clock = std::chrono::steady_clock;
  device::Backend& backend_;
  Rates rates_;
  std::vector<StepStats> pending_;
  Clock::time_point group_start_;  // of the first pending step
  bool stop_requested_ = false;
};

/// Percentiles and rates of the steps from `warmup_steps` on (of all where there are no more).
run::StepSummary summarize(const std::vector<StepRecord>& records, int64_t warmup_steps, const Rates& rates);

}  // namespace trainctl::train
