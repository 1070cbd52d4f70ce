#include "feed/prefetcher.h"

#include <ATen/ATen.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <latch>
#include <stdexcept>

using trainctl::feed::Batch;
using trainctl::feed::Prefetcher;

namespace {

Batch numbered(int64_t number) { return {.input = at::full({1}, number, at::kLong), .first_sample = number}; }

}  // namespace

TEST_CASE("batches come in order from any number of threads and any depth", "[prefetcher]") {
  for (const int threads : {0, 1, 4}) {
    for (const int depth : {1, 2, 7}) {
      Prefetcher prefetcher(numbered, threads, depth);
      for (int64_t i = 0; i < 50; ++i) REQUIRE(prefetcher.next().first_sample == i);
    }
  }
}

TEST_CASE("an error of a thread surfaces at its batch and stays", "[prefetcher]") {
  for (const int threads : {0, 1, 3}) {
    Prefetcher prefetcher(
        [](int64_t number) { return number < 3 ? numbered(number) : throw std::runtime_error("bad"); },
        threads, 2);
    for (int64_t i = 0; i < 3; ++i) CHECK(prefetcher.next().first_sample == i);
    CHECK_THROWS_WITH(prefetcher.next(), "bad");
    CHECK_THROWS_WITH(prefetcher.next(), "bad");
  }
}

TEST_CASE("threads read ahead by the depth and no further", "[prefetcher]") {
  std::latch first_three(3);
  std::atomic<int> made{0};
  {
    Prefetcher prefetcher(
        [&](int64_t number) {
          if (made++ < 3) first_three.count_down();
          return numbered(number);
        },
        1, 3);
    first_three.wait();
    CHECK(made == 3);  // the only thread has filled every slot; it goes on only when one is taken
  }
  CHECK(made == 3);
}

TEST_CASE("a batch that is waited for shows in the time", "[prefetcher]") {
  Prefetcher prefetcher(
      [&](int64_t number) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
        while (std::chrono::steady_clock::now() < end) {
        }
        return numbered(number);
      },
      0, 1);
  prefetcher.next();
  CHECK(prefetcher.wait_ns() >= 20'000'000);  // made inside next(), so all of it
}
