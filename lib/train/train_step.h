// train_step.h: one step of training: micro-batches, gradients, clipping, update.  Start reading here.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dist/data_parallel.h"
#include "feed/batch_stream.h"
#include "model/model.h"
#include "optim/optimizer.h"
#include "precision/loss_scaler.h"
#include "spec/job_spec.h"

namespace trainctl::train {

/// Which samples a micro-batch of this rank held, for messages.
struct BatchOrigin {
  int64_t first_sample = 0, num_samples = 0;
  std::string origin;  // "file:offset" of the first
};

/// Indices into StepStats::totals, which are sums over micro-batches and ranks.
enum Totals : int { kLossSum, kNumTargets, kStopRequests, kNumTotals };

/// What a step showed.  Tensors are on the device: reading them waits for it.
struct StepStats {
  int64_t step = 0;
  double lr = 0;
  at::Tensor totals;                  // [kNumTotals] float64
  at::Tensor local_loss;              // scalar float64: this rank's part of totals[kLossSum]
  optim::GradientNorm gradient_norm;  // before clipping, of all ranks' mean gradient
  at::Tensor not_finite;  // float scalar: 1 where a loss or gradient is not, so nothing was updated
  at::Tensor loss_scale;  // with fp16: float scalar, what this step's loss was multiplied by
  int64_t data_wait_ns = 0;
  std::vector<BatchOrigin> batches;
};

class TrainStep {
 public:
  /// The references must outlive this.  Collective.
  TrainStep(const spec::JobSpec& spec, model::Model& model, dist::Group& group, at::Device device);

  /// One step.  Collective.  The loss is the sum over all targets of all ranks and micro-batches, divided
  /// once by their number.  Where it or a gradient is not finite, no rank changes parameters or optimizer
  /// state; with optimizer.on_nonfinite `stop`, no later step does either.  With fp16 a gradient that is not
  /// finite where the loss is has overflowed: no update, half the loss scale, and the next step is as any.
  ///
  /// stop_requested  this rank got a signal; all ranks find their number in totals[kStopRequests]
  StepStats run(feed::BatchStream& batches, int64_t step, bool stop_requested);

  /// The lr of later steps is that of as many steps fewer in the schedule: it is a function of the updates
  /// applied.  The caller learns of skipped steps when it reads them.  Where it reads each step (CPUs) that
  /// is exact; on a GPU the schedule runs ahead by the steps skipped since the last read (metrics.log_every),
  /// and then falls back.
  void set_num_skipped(int64_t num_skipped) { num_skipped_ = num_skipped; }

  const std::vector<optim::Parameter>& parameters() const { return parameters_; }
  const precision::LossScaler& scaler() const { return scaler_; }

 private:
  feed::Batch next_batch(feed::BatchStream& batches, StepStats& stats) const;
  at::Tensor loss_sum(const feed::Batch& batch);
  bool targets_may_be_ignored() const {
    return spec_.data.ignore_index >= 0;
  }  // no data holds a negative target
  void rescale_gradients(int64_t divisor, const at::Tensor& num_targets);
  at::Tensor not_finite(const StepStats& stats);

  const spec::JobSpec& spec_;
  model::Model& model_;
  dist::Group& group_;
  at::Device device_;
  int64_t total_steps_;      // of the schedule
  int64_t num_skipped_ = 0;  // that the host knows of
  std::vector<optim::Parameter> parameters_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  dist::GradientReducer reducer_;
  precision::LossScaler scaler_;
  at::Tensor stopped_;  // float scalar: 1 once a step was not finite and no later one may update
};

}  // namespace trainctl::train
