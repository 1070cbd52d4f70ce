#include <torch/types.h>

#include <catch2/catch.hpp>

#include "dist/data_parallel.h"
#include "support/on_ranks.h"
#include "util/diagnostic.h"

using namespace trainctl;

TEST_CASE("the hash is XXH3-128 of the bytes of all tensors in order", "[dist]") {
  // From xxHash's own command: printf abc | xxh128sum
  const at::Tensor abc = at::tensor({97, 98, 99}, at::kByte);
  CHECK(dist::hash_of({abc}) == "06b05ab6733a618578af5f94892f3950");
  CHECK(dist::hash_of({abc.slice(0, 0, 1), abc.slice(0, 1, 3)}) == dist::hash_of({abc}));
  CHECK(dist::hash_of({}) == "99aa06d3014798d86001c324468d497f");  // of nothing
}

TEST_CASE("one changed bit or another order changes the hash and a view hashes as its copy", "[dist]") {
  const at::Tensor x = at::arange(1000, at::kFloat);
  const at::Tensor y = x.clone();
  y[777] = std::nextafter(777.0F, 1000.0F);
  CHECK(dist::hash_of({x}) != dist::hash_of({y}));
  CHECK(dist::hash_of({x, y}) != dist::hash_of({y, x}));
  const at::Tensor square = at::arange(12).view({3, 4});
  CHECK(dist::hash_of({square.t()}) == dist::hash_of({square.t().contiguous()}));
  CHECK(dist::hash_of({square.t()}) != dist::hash_of({square}));
}

TEST_CASE("ranks whose bytes differ are named on every rank", "[dist]") {
  std::vector<std::string> messages(4);
  test::on_ranks(4, [&](dist::Group& group) {
    const at::Tensor parameters = at::full({8}, group.rank() == 2 ? 2.0 : 1.0);
    try {
      dist::check_equal(dist::hash_of({parameters}), group, "parameters at step 7");
    } catch (const InfraError& error) {
      messages[group.rank()] = error.what();
    }
  });
  for (const auto& message : messages) {
    CHECK_THAT(message, Catch::StartsWith("parameters at step 7 differ between ranks: rank 2 ("));
    CHECK_THAT(message, Catch::Contains("from ranks 0, 1, 3 ("));
  }
}

TEST_CASE("equal bytes on all ranks pass", "[dist]") {
  CHECK_NOTHROW(test::on_ranks(
      3, [](dist::Group& group) { dist::check_equal(dist::hash_of({at::ones({8})}), group, "parameters"); }));
}
