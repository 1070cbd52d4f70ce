#include "data/sampler.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <set>
#include <vector>

using trainctl::data::Permutation;
using trainctl::data::Sampler;
using trainctl::spec::LastBatch;

namespace {

std::vector<int64_t> indices(const Sampler& sampler, int64_t first, int64_t count) {
  std::vector<int64_t> list;
  for (int64_t i = first; i < first + count; ++i) list.push_back(sampler.index(i));
  return list;
}

/// What training reads, step by step: every rank's micro-batches by the batch rule, joined over the ranks.
std::vector<int64_t> read_by_ranks(const Sampler& sampler, int64_t first_step, int64_t num_steps,
                                   int64_t accumulate, int64_t world_size, int64_t micro_batch) {
  std::vector<int64_t> list;
  for (int64_t k = first_step * accumulate; k < (first_step + num_steps) * accumulate; ++k) {
    for (int64_t rank = 0; rank < world_size; ++rank) {
      for (int64_t b = 0; b < micro_batch; ++b)
        list.push_back(sampler.index((k * world_size + rank) * micro_batch + b));
    }
  }
  return list;
}

}  // namespace

TEST_CASE("a permutation reaches every number once for any size", "[sampler]") {
  for (const uint64_t n : {1, 2, 3, 5, 8, 9, 31, 100, 257, 1000, 4096, 5000}) {
    const Permutation permutation(n, 7 * n);
    std::set<uint64_t> seen;
    for (uint64_t x = 0; x < n; ++x) seen.insert(permutation(x));
    CHECK(seen.size() == n);
    CHECK(*seen.rbegin() == n - 1);
  }
}

TEST_CASE("a permutation of a trillion numbers costs no memory and stays in range", "[sampler]") {
  const uint64_t n = 1'000'000'000'039;
  const Permutation permutation(n, 1);
  std::set<uint64_t> seen;
  for (uint64_t x = 0; x < 2000; ++x) seen.insert(permutation(x * 499'999'999));
  CHECK(seen.size() == 2000);
  CHECK(*seen.rbegin() < n);
  CHECK(*seen.rbegin() > n / 2);
}

TEST_CASE("a shuffled place is as likely to get any number", "[sampler]") {
  // Chi-square of where number 0 goes over 6,400 keys and 64 places: mean 63, standard deviation 11.2; 130 is
  // six deviations, so a fair permutation fails once in 10^8 seeds, and the keys here are fixed.
  std::vector<int> hits(64);
  for (uint64_t key = 0; key < 6400; ++key) ++hits[Permutation(64, key)(0)];
  double chi = 0;
  for (const int n : hits) chi += (n - 100.0) * (n - 100.0) / 100.0;
  CHECK(chi < 130);
  CHECK(chi > 20);
}

TEST_CASE("drop gives every epoch whole micro-batches of samples that occur once", "[sampler]") {
  const Sampler sampler(103, 4, 42, true, LastBatch::kDrop);
  REQUIRE(sampler.samples_per_epoch() == 100);
  std::vector<int64_t> previous;
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    const auto list = indices(sampler, epoch * 100, 100);
    CHECK(std::set<int64_t>(list.begin(), list.end()).size() == 100);
    CHECK(sampler.epoch(epoch * 100 + 99) == epoch);
    CHECK(list != previous);  // reshuffled
    previous = list;
  }
}

TEST_CASE("pad gives every epoch each sample and fills the last micro-batch from the start", "[sampler]") {
  const Sampler sampler(103, 4, 42, true, LastBatch::kPad);
  REQUIRE(sampler.samples_per_epoch() == 104);
  const auto list = indices(sampler, 104, 104);
  CHECK(std::set<int64_t>(list.begin(), list.end()).size() == 103);
  CHECK(list.back() == list.front());
}

TEST_CASE("without shuffling samples come in order and wrap around whatever the last batch", "[sampler]") {
  for (const auto last : {LastBatch::kDrop, LastBatch::kPad}) {
    const Sampler sampler(7, 4, 42, false, last);
    CHECK(indices(sampler, 5, 5) == std::vector<int64_t>{5, 6, 0, 1, 2});
  }
}

TEST_CASE("seeds give different orders and equal seeds the same", "[sampler]") {
  const auto of = [](uint64_t seed) { return indices(Sampler(50, 5, seed, true, LastBatch::kDrop), 0, 50); };
  CHECK(of(1) == of(1));
  CHECK(of(1) != of(2));
}

TEST_CASE("more samples than an epoch needs are dropped to nothing only when a batch is larger",
          "[sampler]") {
  CHECK(Sampler(3, 4, 0, true, LastBatch::kDrop).samples_per_epoch() == 0);
  CHECK(Sampler(3, 4, 0, true, LastBatch::kPad).samples_per_epoch() == 4);
}

TEST_CASE(
    "a run resumed in mid-epoch two on another number of ranks reads the same list over two epoch borders",
    "[sampler]") {
  const Sampler sampler(50, 2, 9, true, LastBatch::kDrop);  // 50 an epoch
  const auto unbroken =
      read_by_ranks(sampler, 0, 30, 1, 2, 2);             // 4 a step: 120 samples, borders at 50 and 100
  auto resumed = read_by_ranks(sampler, 0, 18, 1, 2, 2);  // stops at 72, in the second epoch
  const auto more_ranks = read_by_ranks(sampler, 9, 6, 2, 2, 2);  // 8 a step from sample 72, two micro-steps
  resumed.insert(resumed.end(), more_ranks.begin(), more_ranks.end());
  CHECK(resumed == unbroken);
  resumed.resize(72);
  const auto four = read_by_ranks(sampler, 9, 6, 1, 4, 2);  // 8 a step on four ranks
  resumed.insert(resumed.end(), four.begin(), four.end());
  CHECK(resumed == unbroken);
}
