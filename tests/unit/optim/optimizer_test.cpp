#include "optim/optimizer.h"

#include <torch/types.h>

#include <catch2/catch.hpp>
#include <limits>

using namespace trainctl;  // NOLINT: a test
using optim::Parameter;

namespace {

Parameter parameter(const std::string& name, const at::Tensor& value, const at::Tensor& gradient) {
  Parameter p{name, value.clone().requires_grad_(true)};
  p.tensor.mutable_grad() = gradient.clone();
  return p;
}

std::vector<Parameter> three_four_five() {
  return {parameter("a", torch::zeros({1}), torch::full({1}, 3.0f)),
          parameter("b", torch::zeros({2, 1}), torch::full({2, 1}, std::sqrt(8.0f)))};
}

}  // namespace

TEST_CASE("the gradient norm is over all parameters together and clipping scales to it", "[optim]") {
  const auto parameters = three_four_five();
  const auto norm = optim::gradient_norm(parameters);
  CHECK(norm.total.item<float>() == Approx(5).epsilon(1e-6));  // a few ulp of fp32
  CHECK(norm.each[0].item<float>() == 3.0f);
  optim::clip_gradients(parameters, norm, 1.0);
  CHECK(optim::gradient_norm(parameters).total.item<float>() == Approx(1).epsilon(1e-6));
}

TEST_CASE("a norm below the limit leaves every bit of the gradients", "[optim]") {
  const auto parameters = three_four_five();
  const at::Tensor before = parameters[1].tensor.grad().clone();
  optim::clip_gradients(parameters, optim::gradient_norm(parameters), 100.0);
  CHECK(torch::equal(parameters[1].tensor.grad(), before));
}

TEST_CASE("a gradient that is not finite shows in the norm and is not spread by clipping", "[optim]") {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const auto parameters = three_four_five();
    parameters[1].tensor.mutable_grad()[1] = bad;
    const at::Tensor before = parameters[0].tensor.grad().clone();
    const auto norm = optim::gradient_norm(parameters);
    optim::clip_gradients(parameters, norm, 1.0);
    CHECK_FALSE(std::isfinite(norm.total.item<float>()));
    CHECK(std::isfinite(norm.each[0].item<float>()));
    CHECK_FALSE(std::isfinite(norm.each[1].item<float>()));
    CHECK(torch::equal(parameters[0].tensor.grad(), before));
  }
}

TEST_CASE("a skipped update leaves parameters and state and the next one is as if it had not been",
          "[optim]") {
  for (const auto kind : {spec::OptimizerKind::kAdamW, spec::OptimizerKind::kSgd}) {
    const spec::OptimizerSpec spec{.kind = kind, .momentum = 0.9};
    const auto skipping = three_four_five(), plain = three_four_five();
    const auto a = optim::make_optimizer(spec, skipping), b = optim::make_optimizer(spec, plain);
    a->set_lr(0.1);
    b->set_lr(0.1);
    a->step(torch::ones({}));
    CHECK(skipping[0].tensor.item<float>() == 0.0f);
    for (int i = 0; i < 3; ++i) {
      a->step(torch::zeros({}));
      b->step();
    }
    CHECK(plain[0].tensor.item<float>() != 0.0f);
    for (int i = 0; i < 2; ++i) CHECK(torch::equal(skipping[i].tensor, plain[i].tensor));
  }
}

TEST_CASE("weight decay is for matrices unless all tensors are asked for", "[optim]") {
  for (const bool all : {false, true}) {
    const spec::OptimizerSpec spec{.weight_decay = 0.5,
                                   .decay = all ? spec::DecayTensors::kAll : spec::DecayTensors::kMatrices};
    const std::vector<Parameter> parameters{parameter("bias", torch::ones({2}), torch::zeros({2})),
                                            parameter("matrix", torch::ones({2, 2}), torch::zeros({2, 2}))};
    const auto optimizer = optim::make_optimizer(spec, parameters);
    optimizer->set_lr(0.1);
    optimizer->step();  // the gradient is zero: what moves is decay
    CHECK(parameters[0].tensor[0].item<float>() == (all ? 0.95f : 1.0f));
    CHECK(parameters[1].tensor[0][0].item<float>() == 0.95f);
  }
}

TEST_CASE("a parameter without a gradient is named", "[optim]") {
  const std::vector<Parameter> parameters{{"h.0.weight", torch::ones({2, 2}).requires_grad_(true)}};
  const auto optimizer = optim::make_optimizer({}, parameters);
  CHECK_THROWS_WITH(optimizer->step(), Catch::Contains("h.0.weight has no gradient"));
}
