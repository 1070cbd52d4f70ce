// not_finite.h: the report on a step whose loss or gradients are NaN or infinite.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "dist/data_parallel.h"
#include "train/metrics.h"
#include "train/train_step.h"

namespace trainctl::train {

/// Ends the run (exit 1).  Thrown on all ranks alike.
class NotFinite : public std::exception {
 public:
  NotFinite(int64_t step, std::string what, std::string help)
      : step_(step), what_(std::move(what)), help_(std::move(help)) {}
  const char* what() const noexcept override { return what_.c_str(); }
  const std::string& help() const { return help_; }
  int64_t step() const { return step_; }

 private:
  int64_t step_;
  std::string what_, help_;
};

/// Did a gradient of this skipped step overflow in fp16, with a finite loss?  A smaller loss scale mends
/// that.
bool is_overflow(const StepRecord& skipped);
/// `overflow: a gradient of step 3 does not fit into fp16; skipped on all ranks, loss scale 65536 -> 32768`
std::string overflow_line(const StepRecord& skipped);

/// What to do where one step that was not finite, or one too many skipped, ends the run.
std::string stop_help(const StepRecord& skipped);
std::string skip_help(const StepRecord& skipped);

/// Says what was not finite: the loss, the first parameter whose gradient is not, and the batches (sample
/// numbers, file:offset) of the ranks whose own loss is not, or of all ranks where every loss is finite.
/// Collective: every rank gets the same text.  Waits for the device.
std::string describe_not_finite(const StepStats& stats, const std::vector<optim::Parameter>& parameters,
                                dist::Group& group, at::Device device);

/// The text of each rank, cut to 4096 bytes, on every rank.  Collective.
std::vector<std::string> gather_texts(const std::string& text, dist::Group& group, at::Device device);

}  // namespace trainctl::train
