// metrics.h: the numbers of each step, as they go to files and to the terminal.  Rank 0 only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "train/tensorboard.h"

namespace trainctl::train {

/// One step as read from the device; losses and rates are over all ranks, memory is this rank's.
struct StepRecord {
  int64_t step = 0;
  double loss = 0, grad_norm = 0, lr = 0;
  double step_ms = 0, data_wait_ms = 0;
  double per_s = 0;  // tokens or samples
  double rss_mb = 0;
  std::optional<double> device_mb, mfu, mfu_measured;
  bool skipped = false;              // not finite: nothing was updated
  std::optional<double> loss_scale;  // with fp16: what this step used
};

/// Writes `dir`/metrics.jsonl, one object a line: a step has the keys step, loss, grad_norm, lr, step_ms,
/// <unit>_per_s, data_wait_ms, rss_mb, device_mb, mfu, mfu_measured, skipped (a number that is not known or
/// not finite is null), with fp16 also loss_scale; an evaluation has step (steps done), eval_loss,
/// eval_samples.  With `tensorboard` the same go to an event file.
class MetricsWriter {
 public:
  /// unit: "tokens" or "samples".  Throws InfraError.
  MetricsWriter(const std::filesystem::path& dir, std::string unit, bool tensorboard);
  void write(const StepRecord& record);  // buffered until flush()
  void write_evaluation(int64_t steps_done, double loss, int64_t num_samples);
  void flush();  // throws InfraError

 private:
  std::filesystem::path path_;
  std::string unit_;
  std::ofstream file_;
  std::unique_ptr<EventWriter> events_;
};

/// `step 120/2000  loss 2.4312  lr 9.8e-04  step 61.2 ms  33.5k tok/s  data 0.3 %`: the launcher shows it.
std::string status_line(const StepRecord& record, int64_t num_steps, const std::string& unit);

}  // namespace trainctl::train
