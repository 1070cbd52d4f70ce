// fp16: a gradient that overflows on one rank, and what all ranks then do.
#include <catch2/catch.hpp>
#include <limits>

#include "fakes.h"
#include "optim/optimizer.h"
#include "support/on_ranks.h"
#include "train/train_step.h"

using namespace trainctl;  // NOLINT: a test

namespace {

constexpr int64_t kWindow = 2;

/// An mlp of 4 inputs, 8 hidden units and 3 classes whose logits are multiplied by `factor`, in float32: the
/// loss stays finite, and the gradient that goes back into the fp16 layers is `factor` times as large.
class Amplified : public model::Model {
 public:
  at::Tensor forward(const at::Tensor& input) override {
    const at::Tensor hidden = at::linear(input, w1_).relu();
    return at::linear(hidden, w2_).to(torch::kFloat32) * factor;
  }
  std::vector<model::NamedTensor> parameters() override { return {{"w1", w1_}, {"w2", w2_}}; }
  std::vector<model::NamedTensor> buffers() override { return {}; }
  void train(bool) override {}
  void set_tensors(const std::vector<at::Tensor>&, const std::vector<at::Tensor>&) override {}
  double flops_per_sample(int64_t) const override { return 0; }

  double factor = 1;

 private:
  static at::Tensor weight(int64_t out, int64_t in) {
    return (torch::arange(out * in, torch::kFloat32) * 0.37).sin().reshape({out, in}).requires_grad_(true);
  }
  at::Tensor w1_ = weight(8, 4), w2_ = weight(3, 8);
};

/// One row for each class, so that not all of them can be right.
feed::Batch rows(int64_t rank) {
  feed::Batch batch{.num_targets = 3, .origin = "file.bin:0"};
  batch.input = torch::full({3, 4}, 1.0f + static_cast<float>(rank));
  batch.target = torch::arange(3);
  return batch;
}

spec::JobSpec job() {
  spec::JobSpec spec;
  spec.precision = {.compute = spec::ComputeDtype::kFp16, .loss_scale_window = kWindow};
  spec.schedule.warmup_steps = 100;  // so that the lr tells steps apart
  spec.train.steps = 1000;
  spec.optimizer.lr = 0.1;
  return spec;
}

at::Tensor values(model::Model& model) {
  return torch::cat(
      {model.parameters()[0].tensor.detach().flatten(), model.parameters()[1].tensor.detach().flatten()});
}

struct SeenStep {
  bool skipped = false, loss_finite = false, moved = false;
  double scale_used = 0, scale_after = 0, lr = 0;
  bool operator==(const SeenStep&) const = default;
};

SeenStep one_step(train::TrainStep& step, Amplified& model, const dist::Group& group, int64_t number) {
  const at::Tensor before = values(model).clone();
  test::ListedBatches stream({rows(group.rank())});
  const auto stats = step.run(stream, number, false);
  return {.skipped = stats.not_finite.item<float>() != 0,
          .loss_finite = std::isfinite(stats.totals[train::kLossSum].item<double>()),
          .moved = !torch::equal(before, values(model)),
          .scale_used = stats.loss_scale.item<double>(),
          .scale_after = step.scaler().value().item<double>(),
          .lr = stats.lr};
}

}  // namespace

TEST_CASE("an overflow on one rank skips the step and halves the loss scale on all", "[train]") {
  // Logits times 1e5 on rank 1 for three steps; then as on rank 0.
  constexpr int64_t kBad = 3, kGood = 3;
  std::vector<std::vector<SeenStep>> ranks(2);
  std::vector<at::Tensor> final_values(2);
  const spec::JobSpec spec = job();
  test::on_ranks(2, [&](dist::Group& group) {
    Amplified model;
    train::TrainStep step(spec, model, group, at::kCPU);
    auto& mine = ranks[group.rank()];
    int64_t num_skipped = 0;
    for (int64_t s = 0; s < kBad + kGood; ++s) {
      model.factor = group.rank() == 1 && s < kBad ? 1e5 : 1e-3;
      step.set_num_skipped(num_skipped);
      mine.push_back(one_step(step, model, group, s));
      num_skipped += mine.back().skipped ? 1 : 0;
    }
    final_values[group.rank()] = values(model).clone();
  });
  CHECK((ranks[0] == ranks[1]));  // Catch need not print them
  CHECK(torch::equal(final_values[0], final_values[1]));
  double scale = spec.precision.loss_scale;
  for (int64_t s = 0; s < kBad + kGood; ++s) {
    INFO("step " << s);
    const SeenStep& seen = ranks[0][static_cast<size_t>(s)];
    const bool bad = s < kBad;
    const int64_t applied = bad ? 0 : s - kBad;
    CHECK(seen.loss_finite);
    CHECK(seen.skipped == bad);
    CHECK(seen.moved == !bad);  // the default `optimizer.on_nonfinite: stop` holds nothing still here
    CHECK(seen.lr == Approx(spec.optimizer.lr * static_cast<double>(applied + 1) / 100));
    CHECK(seen.scale_used == scale);
    if (bad) scale /= 2;
    if (!bad && (applied + 1) % kWindow == 0) scale *= 2;
    CHECK(seen.scale_after == scale);
  }
}

TEST_CASE("fp16 gives the gradients of fp32 within its rounding", "[train]") {
  const auto gradient = [](spec::ComputeDtype compute) {
    const auto backend = device::make_backend("cpu", 0, 1);
    const auto group = dist::Group::join({}, *backend, 1);
    spec::JobSpec spec = job();
    spec.precision.compute = compute;
    spec.optimizer.clip_norm = 0;
    Amplified model;
    model.factor = 0.1;
    train::TrainStep step(spec, model, *group, at::kCPU);
    test::ListedBatches stream({rows(0)});
    step.run(stream, 0, false);
    return torch::cat(
        {model.parameters()[0].tensor.grad().flatten(), model.parameters()[1].tensor.grad().flatten()});
  };
  const at::Tensor expected = gradient(spec::ComputeDtype::kFp32);
  const at::Tensor found = gradient(spec::ComputeDtype::kFp16);
  // A handful of roundings of 2^-11 each, on sums of at most 8 terms.
  CHECK((found - expected).norm().item<double>() < 5e-3 * expected.norm().item<double>());
  CHECK(expected.norm().item<double>() > 0);
}

TEST_CASE("with fp16 a loss that is not finite still ends the updates", "[train]") {
  const auto backend = device::make_backend("cpu", 0, 1);
  const auto group = dist::Group::join({}, *backend, 1);
  const spec::JobSpec spec = job();
  Amplified model;
  train::TrainStep step(spec, model, *group, at::kCPU);
  model.factor = std::numeric_limits<double>::infinity();
  const SeenStep bad = one_step(step, model, *group, 0);
  CHECK_FALSE(bad.loss_finite);
  CHECK_FALSE(bad.moved);
  model.factor = 1e-3;
  const SeenStep later = one_step(step, model, *group, 1);
  CHECK(later.loss_finite);
  CHECK_FALSE(later.moved);
}
