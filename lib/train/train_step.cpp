#include "train/train_step.h"

#include <torch/types.h>

#include "precision/compute_scope.h"
#include "train/loss.h"

namespace trainctl::train {

StepStats TrainStep::run(feed::BatchStream& batches, int64_t step, bool stop_requested) {
  StepStats stats{.step = step};
  stats.lr = optim::lr_at(spec_.schedule, spec_.optimizer.lr, total_steps_, step - num_skipped_);
  stats.totals = torch::zeros({kNumTotals}, at::device(device_).dtype(torch::kFloat64));
  optimizer_->set_lr(stats.lr);
  optimizer_->zero_grad();

  int64_t divisor = 0;  // targets of the whole step, if all count
  for (int64_t m = 0; m < spec_.train.accumulate; ++m) {
    const bool sync = m + 1 == spec_.train.accumulate;  // ranks average gradients in the last backward only
    const feed::Batch batch = next_batch(batches, stats);
    divisor = batch.target.numel() * spec_.train.accumulate * group_.size();

    reducer_.prepare_forward(sync);
    const at::Tensor loss_sum = this->loss_sum(batch);
    if (sync) reducer_.prepare_backward();
    // The average over ranks divides by their number once more.
    const at::Tensor loss = loss_sum * (static_cast<double>(group_.size()) / static_cast<double>(divisor));
    scaler_.scale(loss).backward();

    stats.totals[kLossSum] += loss_sum.detach();
    stats.totals[kNumTargets] += batch.num_targets;
  }
  reducer_.finish_backward();

  if (stop_requested) stats.totals[kStopRequests] += 1;
  stats.local_loss = stats.totals[kLossSum].clone();
  group_.all_reduce_sum(stats.totals);
  if (targets_may_be_ignored()) rescale_gradients(divisor, stats.totals[kNumTargets]);
  scaler_.unscale(optim::gradients_of(parameters_));

  stats.gradient_norm = optim::gradient_norm(parameters_);
  stats.not_finite = not_finite(stats);
  const double clip_norm = spec_.optimizer.clip_norm;
  if (clip_norm > 0) optim::clip_gradients(parameters_, stats.gradient_norm, clip_norm);
  optimizer_->step(/*skip=*/stats.not_finite);
  stats.loss_scale = scaler_.update(/*overflow=*/stats.not_finite);
  return stats;
}

feed::Batch TrainStep::next_batch(feed::BatchStream& batches, StepStats& stats) const {
  feed::Batch batch = batches.next();
  stats.data_wait_ns += batches.wait_ns();
  stats.batches.push_back({batch.first_sample, batch.input.size(0), batch.origin});
  return batch;
}

at::Tensor TrainStep::loss_sum(const feed::Batch& batch) {
  at::Tensor logits;
  {
    const precision::ComputeScope scope(spec_.precision.compute, device_.type());
    logits = model_.forward(batch.input);
  }
  return cross_entropy_sum(logits, batch.target, spec_.data.ignore_index);
}

/// The gradients were divided by `divisor`, as if every target counted; makes that `num_targets`.
void TrainStep::rescale_gradients(int64_t divisor, const at::Tensor& num_targets) {
  const at::NoGradGuard no_grad;
  const at::Tensor factor = divisor / num_targets.clamp_min(1);  // no target at all: the gradients are 0
  at::_foreach_mul_(optim::gradients_of(parameters_), factor.to(torch::kFloat32));
}

/// 1 where the loss or a gradient is NaN or infinite (or was before, where that ends the run), else 0.  Equal
/// on all ranks, as the sum of losses and the averaged gradients are.
at::Tensor TrainStep::not_finite(const StepStats& stats) {
  const auto flag = [](const at::Tensor& x) { return x.isfinite().logical_not_().to(torch::kFloat32); };
  const at::Tensor now = flag(stats.totals[kLossSum] + stats.gradient_norm.total);
  if (spec_.optimizer.on_nonfinite == spec::NonFinite::kSkip) return now;
  // A scaled gradient may overflow where nothing is wrong with the model, so only the loss ends such a run.
  stopped_ = at::maximum(stopped_, scaler_.enabled() ? flag(stats.totals[kLossSum]) : now);
  return at::maximum(stopped_, now);
}

namespace {

std::vector<optim::Parameter> named_parameters(model::Model& model) {
  std::vector<optim::Parameter> parameters;
  for (auto& [name, tensor] : model.parameters()) parameters.push_back({name, tensor});
  return parameters;
}

std::vector<std::pair<std::string, at::Tensor>> pairs_of(const std::vector<optim::Parameter>& parameters) {
  std::vector<std::pair<std::string, at::Tensor>> pairs;
  for (const auto& [name, tensor] : parameters) pairs.emplace_back(name, tensor);
  return pairs;
}

}  // namespace

TrainStep::TrainStep(const spec::JobSpec& spec, model::Model& model, dist::Group& group, at::Device device)
    : spec_(spec),
      model_(model),
      group_(group),
      device_(device),
      total_steps_(spec.schedule.total_steps.value_or(spec.train.steps)),
      parameters_(named_parameters(model)),
      optimizer_(optim::make_optimizer(spec.optimizer, parameters_)),
      reducer_(pairs_of(parameters_), group, spec.parallel.bucket_mb, spec.parallel.first_bucket_mb),
      scaler_(spec.precision, device),
      stopped_(torch::zeros({}, device)) {}

}  // namespace trainctl::train
