#include "train/loss.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <catch2/catch.hpp>
#include <limits>

using trainctl::train::cross_entropy_sum;

namespace {

struct LossAndGradient {
  double loss;
  at::Tensor gradient;
};

LossAndGradient ours(const at::Tensor& logits, const at::Tensor& target, int64_t ignore = -100) {
  const at::Tensor leaf = logits.clone().requires_grad_(true);
  const at::Tensor copy = leaf.clone();  // backward overwrites it
  const at::Tensor loss = cross_entropy_sum(copy, target, ignore);
  (loss * 0.125).backward();
  return {loss.item<double>(), leaf.grad() * 8};
}

/// In double, by ATen.
LossAndGradient reference(const at::Tensor& logits, const at::Tensor& target, int64_t ignore = -100) {
  const at::Tensor leaf = logits.to(torch::kFloat64).detach().requires_grad_(true);
  const at::Tensor loss = at::cross_entropy_loss(leaf.reshape({-1, leaf.size(-1)}), target.reshape(-1), {},
                                                 at::Reduction::Sum, ignore);
  loss.backward();
  return {loss.item<double>(), leaf.grad()};
}

at::Tensor noise(std::vector<int64_t> shape) {
  torch::manual_seed(1);
  return torch::randn(shape) * 4;
}

}  // namespace

TEST_CASE("the cross entropy equals a double-precision reference at every row length", "[train]") {
  for (const int64_t num_classes : {1, 2, 7, 16, 63, 64, 65, 79, 257, 5000}) {
    const at::Tensor logits = noise({3, 5, num_classes});
    const at::Tensor target = (torch::arange(15) * 7919 % num_classes).reshape({3, 5});
    const auto a = ours(logits, target);
    const auto b = reference(logits, target);
    // One rounding of the sum to fp32, and logits differences rounded to 2^-21 for differences of up to 32.
    CHECK(a.loss == Approx(b.loss).epsilon(2e-7).margin(1e-6));
    CHECK((a.gradient - b.gradient).abs().max().item<double>() < 1e-6);
  }
}

TEST_CASE("bfloat16 logits are computed in fp32 and their gradient is rounded once", "[train]") {
  const at::Tensor logits = noise({4, 9, 300}).to(torch::kBFloat16);
  const at::Tensor target = (torch::arange(36) * 7919 % 300).reshape({4, 9});
  const auto a = ours(logits, target);
  const auto b = reference(logits, target);
  CHECK(a.loss == Approx(b.loss).epsilon(2e-7));
  // bfloat16 keeps 8 bits: half a step of the last one is 2^-9 of a value.
  CHECK(((a.gradient.to(torch::kFloat64) - b.gradient).abs() <= b.gradient.abs() * std::ldexp(1.01, -8))
            .all()
            .item<bool>());
}

TEST_CASE("ignored targets count for nothing and get zero gradients", "[train]") {
  const at::Tensor logits = noise({6, 111});
  const at::Tensor target = torch::tensor({3, 0, 10, 0, 0, 5});
  const auto a = ours(logits, target, /*ignore=*/0);
  const auto b = reference(logits, target, /*ignore=*/0);
  CHECK(a.loss == Approx(b.loss).epsilon(2e-7));
  CHECK((a.gradient - b.gradient).abs().max().item<double>() < 1e-6);
  CHECK(a.gradient[1].abs().max().item<double>() == 0);
}

TEST_CASE("no counted target gives loss 0 and gradient 0", "[train]") {
  const int64_t num_classes = GENERATE(5, 500);  // ATen's kernel and ours
  const auto a = ours(noise({2, num_classes}), torch::tensor({-100, -100}));
  CHECK(a.loss == 0);
  CHECK(a.gradient.abs().max().item<double>() == 0);
}

TEST_CASE("a NaN or an infinity in the logits reaches the loss", "[train]") {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    at::Tensor logits = noise({2, 140});
    logits[1][17] = bad;
    CHECK_FALSE(std::isfinite(ours(logits, torch::tensor({1, 2})).loss));
  }
}

TEST_CASE("far-off logits neither overflow nor vanish", "[train]") {
  at::Tensor logits = torch::full({2, 70}, -3e38f);
  logits[0].fill_(-1e5f);
  logits[0][0] = 1e5f;
  const auto a = ours(logits, torch::tensor({0, 1}));
  CHECK(a.loss == Approx(std::log(70.0)).epsilon(1e-7));
  CHECK(a.gradient[0].abs().max().item<double>() == 0);
}

TEST_CASE("a target outside the classes is named and not read", "[train]") {
  CHECK_THROWS_WITH(cross_entropy_sum(noise({2, 500}), torch::tensor({1, 500}), -100),
                    Catch::Contains("target 500 is outside the 500 classes"));
  CHECK_THROWS_WITH(cross_entropy_sum(noise({2, 500}), torch::tensor({-1, 3}), -100),
                    Catch::Contains("target -1"));
}

TEST_CASE("a second backward through the overwritten logits is refused", "[train]") {
  const at::Tensor leaf = noise({2, 500}).requires_grad_(true);
  const at::Tensor loss = cross_entropy_sum(leaf.clone(), torch::tensor({1, 2}), -100);
  loss.backward({}, /*retain_graph=*/true);
  CHECK_THROWS_WITH(loss.backward(), Catch::Contains("hold"));
}

TEST_CASE("the loss is the same to the bit for one thread and for two", "[train]") {
  const at::Tensor logits = noise({200, 1000});
  const at::Tensor target = torch::arange(200) * 7919 % 1000;
  const auto one = ours(logits, target);
  at::set_num_threads(2);
  const auto two = ours(logits, target);
  at::set_num_threads(1);
  CHECK(one.loss == two.loss);
  CHECK(torch::equal(one.gradient, two.gradient));
}
