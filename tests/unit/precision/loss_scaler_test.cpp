// The loss scale: nothing without fp16, GradScaler's rule with it.
#include "precision/loss_scaler.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <limits>

using namespace trainctl;
using precision::LossScaler;
using spec::ComputeDtype;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

spec::PrecisionSpec fp16(double loss_scale, int64_t window) {
  return {.compute = ComputeDtype::kFp16, .loss_scale = loss_scale, .loss_scale_window = window};
}

}  // namespace

TEST_CASE("without fp16 the loss and the gradients are left alone") {
  for (const ComputeDtype dtype : {ComputeDtype::kFp32, ComputeDtype::kBf16}) {
    LossScaler scaler({.compute = dtype}, at::kCPU);
    const at::Tensor loss = at::scalar_tensor(2.5f), gradient = at::full({3}, 4.0f);
    CHECK_FALSE(scaler.enabled());
    CHECK(scaler.scale(loss).is_same(loss));
    scaler.unscale({gradient});
    CHECK(gradient.equal(at::full({3}, 4.0f)));
    CHECK_FALSE(scaler.update(at::ones({})).defined());
  }
}

TEST_CASE("an overflow halves the scale and a window without one doubles it") {
  LossScaler scaler(fp16(1024, /*window=*/3), at::kCPU);
  const std::vector<float> overflow{1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0};
  std::vector<float> used;
  std::vector<int> since;
  for (const float flag : overflow) {
    used.push_back(scaler.update(at::scalar_tensor(flag)).item<float>());
    since.push_back(scaler.steps_since_change().item<int>());
  }
  CHECK(used == std::vector<float>{1024, 512, 256, 256, 256, 512, 512, 512, 256, 256, 256});
  CHECK(since == std::vector<int>{0, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0});
  CHECK(scaler.value().item<float>() == 512);
}

TEST_CASE("unscaling divides and leaves what is not finite for the norm to find") {
  const LossScaler scaler(fp16(65536, 2000), at::kCPU);
  const at::Tensor a = at::full({2}, 65536 * 0.3f), b = at::full({1}, kInf);
  scaler.unscale({a, b});
  CHECK(a.equal(at::full({2}, 0.3f)));  // a power of two: exact
  CHECK(b.item<float>() == kInf);
}

TEST_CASE("a gradient that vanishes in fp16 survives with the scale") {
  const auto gradient = [](const LossScaler& scaler) {
    const at::Tensor w = at::ones({1}).set_requires_grad(true);
    const at::Tensor loss = (w.to(at::kHalf).to(at::kFloat) * 1e-9f).sum();
    scaler.scale(loss).backward();
    scaler.unscale({w.grad()});
    return w.grad().item<float>();
  };
  CHECK(gradient(LossScaler(fp16(1, 1), at::kCPU)) == 0);
  // One rounding to fp16 (11 bits) of a normal number.
  CHECK(gradient(LossScaler(fp16(65536, 1), at::kCPU)) == Approx(1e-9f).epsilon(5e-4));
}
