#include "train/evaluate.h"

#include <torch/types.h>

#include <algorithm>

#include "feed/batch_stream.h"
#include "precision/compute_scope.h"
#include "train/loss.h"

namespace trainctl::train {
namespace {

/// Evaluation mode while it lives.
class EvaluationMode {
 public:
  explicit EvaluationMode(model::Model& model) : model_(model) { model_.train(false); }
  ~EvaluationMode() { model_.train(true); }

 private:
  model::Model& model_;
  const at::NoGradGuard no_grad_;
};

}  // namespace

bool has_held_out(const spec::JobSpec& spec) { return !spec.data.eval.empty() || spec.data.holdout > 0; }

Evaluation evaluate(const spec::JobSpec& spec, model::Model& model, dist::Group& group, at::Device device) {
  const EvaluationMode mode(model);
  for (auto& [name, buffer] : model.buffers()) group.broadcast(buffer, /*root=*/0);

  at::Tensor totals =
      torch::zeros({3}, at::device(device).dtype(torch::kFloat64));  // loss sum, targets, samples
  const auto batches = feed::open_evaluation(spec, group.rank(), group.size(), device);
  for (feed::Batch batch = batches->next(); batch.input.defined(); batch = batches->next()) {
    const precision::ComputeScope scope(spec.precision.compute, device.type());
    const at::Tensor logits = model.forward(batch.input);
    totals[0] += cross_entropy_sum(logits, batch.target, spec.data.ignore_index);
    totals[1] += batch.num_targets;
    totals[2] += batch.input.size(0);
  }
  group.all_reduce_sum(totals);
  const at::Tensor host = totals.cpu();
  return {.loss = host[0].item<double>() / std::max(1.0, host[1].item<double>()),
          .num_samples = host[2].item<int64_t>()};
}

}  // namespace trainctl::train
