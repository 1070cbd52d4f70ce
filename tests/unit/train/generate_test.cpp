#include "train/generate.h"

#include <torch/types.h>

#include <catch2/catch.hpp>

#include "fakes.h"

using namespace trainctl;  // NOLINT: a test

namespace {

std::vector<int64_t> sampled(const train::Sampling& sampling, std::vector<int64_t> ids = {1}) {
  test::Bigram model(/*vocab=*/11);
  train::sample(model, ids, /*max_seq_len=*/4, sampling, [](int64_t) {});
  return ids;
}

}  // namespace

TEST_CASE("temperature 0 takes the most likely token each time", "[train]") {
  const auto ids = sampled({.num_tokens = 6, .temperature = 0});
  test::Bigram model(11);
  REQUIRE(ids.size() == 7);
  for (size_t i = 1; i < ids.size(); ++i) {
    CHECK(ids[i] == model.forward(torch::tensor({ids[i - 1]})).argmax().item<int64_t>());
  }
}

TEST_CASE("top-k of 1 is the most likely token at any temperature", "[train]") {
  CHECK(sampled({.num_tokens = 6, .temperature = 5, .top_k = 1}) ==
        sampled({.num_tokens = 6, .temperature = 0}));
}

TEST_CASE("a seed repeats its text and another seed gives another", "[train]") {
  const train::Sampling sampling{.num_tokens = 30, .temperature = 2, .top_k = 0, .seed = 3};
  CHECK(sampled(sampling) == sampled(sampling));
  CHECK(sampled(sampling) != sampled({.num_tokens = 30, .temperature = 2, .top_k = 0, .seed = 4}));
}
