// Data-parallel training on ranks-as-threads against one process on the whole batch.
#include <torch/types.h>

#include <catch2/catch.hpp>

#include "dist/data_parallel.h"
#include "support/on_ranks.h"
#include "util/diagnostic.h"

using namespace trainctl;

namespace {

using Named = std::vector<std::pair<std::string, at::Tensor>>;

/// B samples of 32 numbers through two hidden layers of 64 to 8.  Equal values for equal seeds.
Named make_parameters(at::ScalarType dtype) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(1);
  Named parameters;
  const std::vector<std::pair<std::string, std::vector<int64_t>>> shapes = {{"a.weight", {64, 32}},
                                                                            {"a.bias", {64}},
                                                                            {"b.weight", {64, 64}},
                                                                            {"b.bias", {64}},
                                                                            {"c.weight", {8, 64}}};
  for (const auto& [name, shape] : shapes) {
    at::Tensor value = at::randn(shape, generator, dtype) * 0.2;
    parameters.emplace_back(name, value.requires_grad_());
  }
  return parameters;
}

at::Tensor loss_of(const Named& p, const at::Tensor& x_BI, const at::Tensor& y_BO) {
  const at::Tensor h_BH = at::gelu(at::linear(x_BI, p[0].second, p[1].second));
  const at::Tensor g_BH = at::gelu(at::linear(h_BH, p[2].second, p[3].second));
  return at::mse_loss(at::linear(g_BH, p[4].second), y_BO);
}

void sgd(Named& parameters) {
  const at::NoGradGuard no_grad;
  for (auto& [name, parameter] : parameters) {
    parameter.sub_(parameter.grad(), 0.1);
    parameter.mutable_grad().zero_();
  }
}

struct Batches {
  at::Tensor x_SBI, y_SBO;  // S steps
};

Batches make_batches(int64_t steps, int64_t batch, at::ScalarType dtype) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(2);
  return {at::randn({steps, batch, 32}, generator, dtype), at::randn({steps, batch, 8}, generator, dtype)};
}

/// `n` ranks, each with its part of every batch in `micro` micro-steps, of which only the last synchronises.
std::vector<Named> train_on_ranks(int n, int micro, const Batches& batches, double bucket_mb) {
  std::vector<Named> results(n);
  for (auto& result : results) result = make_parameters(batches.x_SBI.scalar_type());
  test::on_ranks(n, [&](dist::Group& group) {
    Named& parameters = results[group.rank()];
    dist::GradientReducer reducer(parameters, group, bucket_mb, bucket_mb / 4);
    for (int64_t step = 0; step < batches.x_SBI.size(0); ++step) {
      const at::Tensor x = batches.x_SBI[step].chunk(n)[group.rank()];
      const at::Tensor y = batches.y_SBO[step].chunk(n)[group.rank()];
      for (int i = 0; i < micro; ++i) {
        const bool sync = i + 1 == micro;
        reducer.prepare_forward(sync);
        const at::Tensor loss = loss_of(parameters, x.chunk(micro)[i], y.chunk(micro)[i]) / micro;
        if (sync) reducer.prepare_backward();
        loss.backward();
        if (sync) reducer.finish_backward();
      }
      sgd(parameters);
    }
  });
  return results;
}

Named train_alone(const Batches& batches) {
  Named parameters = make_parameters(batches.x_SBI.scalar_type());
  for (int64_t step = 0; step < batches.x_SBI.size(0); ++step) {
    loss_of(parameters, batches.x_SBI[step], batches.y_SBO[step]).backward();
    sgd(parameters);
  }
  return parameters;
}

}  // namespace

TEST_CASE("ranks with parts of the batch equal one process with the whole batch", "[dist]") {
  const int n = GENERATE(2, 4);
  const int micro = GENERATE(1, 2);
  const double bucket_mb = GENERATE(25.0, 0.01);  // one bucket; several
  const Batches batches = make_batches(/*steps=*/5, /*batch=*/16, at::kDouble);
  const Named alone = train_alone(batches);
  const std::vector<Named> ranks = train_on_ranks(n, micro, batches, bucket_mb);
  for (const Named& rank : ranks) {
    for (size_t i = 0; i < alone.size(); ++i) {
      INFO(alone[i].first);
      // Double precision; only the order of sums differs: a few units in the last place over 5 steps.
      CHECK(at::allclose(rank[i].second, alone[i].second, /*rtol=*/1e-12, /*atol=*/1e-13));
      CHECK(at::equal(rank[i].second, ranks[0][i].second));
    }
  }
}

TEST_CASE("gradients are views of the buckets and keep their storage over steps", "[dist]") {
  const Batches batches = make_batches(4, 8, at::kFloat);
  std::vector<int> storages(2);
  std::vector<bool> kept(2);
  test::on_ranks(2, [&](dist::Group& group) {
    Named parameters = make_parameters(at::kFloat);
    dist::GradientReducer reducer(parameters, group, 25, 1);
    std::vector<const void*> before;
    for (int64_t step = 0; step < 4; ++step) {
      reducer.prepare_forward(true);
      const at::Tensor loss = loss_of(parameters, batches.x_SBI[step], batches.y_SBO[step]);
      reducer.prepare_backward();
      loss.backward();
      reducer.finish_backward();
      std::vector<const void*> now;
      std::set<const void*> distinct;
      for (auto& [name, parameter] : parameters) {
        now.push_back(parameter.grad().const_data_ptr());
        distinct.insert(parameter.grad().storage().data());
      }
      storages[group.rank()] = static_cast<int>(distinct.size());
      kept[group.rank()] = now == before;  // from the second step on, when the buckets have been rebuilt
      before = now;
      sgd(parameters);
    }
  });
  for (int rank = 0; rank < 2; ++rank) {
    CHECK(storages[rank] == 1);  // all five fit the first bucket's 1 MB
    CHECK(kept[rank]);
  }
}

TEST_CASE("a parameter without a gradient is named in the step where it happens", "[dist]") {
  std::vector<std::string> messages(2);
  test::on_ranks(2, [&](dist::Group& group) {
    Named parameters = make_parameters(at::kFloat);
    dist::GradientReducer reducer(parameters, group, 25, 1);
    reducer.prepare_forward(true);
    const at::Tensor h = at::linear(at::ones({4, 32}), parameters[0].second, parameters[1].second);
    reducer.prepare_backward();
    h.sum().backward();
    try {
      reducer.finish_backward();
    } catch (const UserError& error) {
      messages[group.rank()] = error.diagnostics().at(0).what;
    }
  });
  CHECK(messages[0] ==
        "rank 0: 3 of 5 parameters got no gradient in the last backward: b.weight, b.bias, c.weight");
  CHECK_THAT(messages[1], Catch::StartsWith("rank 1: 3 of 5 parameters"));
}

TEST_CASE("ranks with other parameter shapes are refused before training", "[dist]") {
  CHECK_THROWS(test::on_ranks(2, [](dist::Group& group) {
    const Named parameters = {{"w", at::ones({2 + group.rank()}).requires_grad_()}};
    const dist::GradientReducer reducer(parameters, group, 25, 1);
  }));
}

TEST_CASE("with one rank the reducer does nothing", "[dist]") {
  const auto cpu = device::make_backend("cpu", 0, 1);
  const auto group = dist::Group::join({}, *cpu, 1);
  Named parameters = make_parameters(at::kFloat);
  dist::GradientReducer reducer(parameters, *group, 25, 1);
  const Batches batches = make_batches(1, 8, at::kFloat);
  reducer.prepare_forward(true);
  const at::Tensor loss = loss_of(parameters, batches.x_SBI[0], batches.y_SBO[0]);
  reducer.prepare_backward();
  loss.backward();
  CHECK_NOTHROW(reducer.finish_backward());
}
