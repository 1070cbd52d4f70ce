#include "dist/group.h"

#include <torch/types.h>

#include <catch2/catch.hpp>
#include <mutex>
#include <torch/csrc/distributed/c10d/Functional.hpp>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>

#include "dist/peer_error.h"
#include "support/on_ranks.h"
#include "util/diagnostic.h"

using namespace trainctl;

TEST_CASE("an all-reduce sums every dtype that training uses", "[dist]") {
  // This also guards third_party/gloo's declarations: a wrong layout of ProcessGroupGloo fails here.
  const at::ScalarType dtype = GENERATE(at::kFloat, at::kDouble, at::kBFloat16, at::kLong, at::kInt);
  const int n = GENERATE(2, 3);
  std::vector<at::Tensor> sums(n);
  test::on_ranks(n, [&](dist::Group& group) {
    at::Tensor x = at::arange(5, dtype) + group.rank();
    group.all_reduce_sum(x);
    sums[group.rank()] = x;
  });
  const at::Tensor expected = at::arange(5, dtype) * n + n * (n - 1) / 2;
  for (const auto& sum : sums) CHECK(at::equal(sum, expected));
}

TEST_CASE("a broadcast gives the root's values and an all-gather all values by rank", "[dist]") {
  std::vector<at::Tensor> roots(3);
  std::vector<std::vector<at::Tensor>> gathered(3);
  test::on_ranks(3, [&](dist::Group& group) {
    at::Tensor x = at::full({2, 2}, group.rank());
    group.broadcast(x, 1);
    roots[group.rank()] = x;
    gathered[group.rank()] = group.all_gather(at::full({2, 3}, group.rank(), at::kLong).t());
    group.barrier();
  });
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(at::equal(roots[rank], at::ones({2, 2})));
    REQUIRE(gathered[rank].size() == 3);
    for (int from = 0; from < 3; ++from)
      CHECK(at::equal(gathered[rank][from], at::full({3, 2}, from, at::kLong)));
  }
}

TEST_CASE("a group is found by name by functional collectives until it ends", "[dist]") {
  std::vector<at::Tensor> sums(2);
  std::vector<std::string> names(2);
  test::on_ranks(2, [&](dist::Group& group) {
    names[group.rank()] = group.process_group()->getGroupName();
    sums[group.rank()] = c10d::wait_tensor(c10d::all_reduce(at::ones({4}), "sum", names[group.rank()]));
  });
  for (const auto& sum : sums) CHECK(at::equal(sum, at::full({4}, 2.0)));
  for (const auto& name : names) CHECK_THROWS(c10d::resolve_process_group(name));
}

TEST_CASE("a job of one rank opens nothing and its collectives return at once", "[dist]") {
  const auto cpu = device::make_backend("cpu", 0, 1);
  const auto group = dist::Group::join({}, *cpu, 0.001);
  CHECK(group->size() == 1);
  CHECK(group->process_group() == nullptr);
  at::Tensor x = at::arange(3);
  group->all_reduce_sum(x);
  group->broadcast(x, 0);
  group->barrier();
  CHECK(at::equal(x, at::arange(3)));
  CHECK(at::equal(group->all_gather(x).at(0), x));
  CHECK_NOTHROW(dist::check_equal("abc", *group, "parameters"));
}

TEST_CASE("a peer that is silent in a collective is an infrastructure error after the timeout", "[dist]") {
  std::string message;
  const auto start = std::chrono::steady_clock::now();
  test::on_ranks(
      2,
      [&](dist::Group& group) {
        if (group.rank() == 1) {
          std::this_thread::sleep_for(
              std::chrono::milliseconds(600));  // longer than the timeout, then leaves
          return;
        }
        at::Tensor x = at::ones({4});
        try {
          group.all_reduce_sum(x);
        } catch (const InfraError& error) {
          message = error.what();
        }
      },
      std::chrono::milliseconds(200));
  CHECK_THAT(message, Catch::StartsWith("rank 0: an all-reduce failed: ") && Catch::Contains("200ms"));
  CHECK(message.find('\n') == std::string::npos);
  CHECK(message.find("/pytorch/") == std::string::npos);  // gloo's source file
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
}

TEST_CASE("an error of the caller in a collective is not taken for a dead peer", "[dist]") {
  std::mutex mutex;
  std::vector<std::string> kinds;
  test::on_ranks(2, [&](dist::Group& group) {
    at::Tensor x = at::ones({4}).to(at::kFloat8_e4m3fn);  // gloo has no sum for it
    std::string kind = "none";
    try {
      group.all_reduce_sum(x);
    } catch (const InfraError&) {
      kind = "infra";
    } catch (const std::exception&) {
      kind = "other";
    }
    const std::lock_guard lock(mutex);
    kinds.push_back(kind);
  });
  CHECK(kinds == std::vector<std::string>{"other", "other"});
}
