// The normal numbers behind initial values.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "model/philox_normal.h"

using namespace trainctl::model;

namespace {

constexpr uint64_t kKey = 0x299f31d0a4093822;

std::vector<float> normals(int64_t begin, int64_t count, uint64_t key = kKey, Isa isa = best_isa()) {
  std::vector<float> out(static_cast<size_t>(count));
  fill_normal(out.data(), begin, count, key, 1.0f, isa);
  return out;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("Philox gives the published answers") {
  using Words = std::array<uint32_t, 4>;
  // Known answers of Random123's test suite (kat_vectors, philox4x32 10).
  CHECK(philox({0, 0, 0, 0}, 0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({~0u, ~0u, ~0u, ~0u}, ~0ull) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, kKey) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("the polynomials are Box and Muller in double precision to 4e-7") {
  // Float32 holds 6e-8; a dozen roundings of the polynomials and the product add up to less than 4e-7 of
  // max(1, |z|).
  const auto z = normals(0, 400000);
  double worst = 0;
  for (size_t k = 0; k < z.size(); k += 2) {
    const auto words = philox({static_cast<uint32_t>(k / 4), 0, 0, 0}, kKey);
    const uint32_t a = words[k % 4], b = words[k % 4 + 1];
    const double u = (static_cast<float>(a >> 1) + 0.5f) * 0x1p-31f;  // the float that the radius is made of
    const double quarter = (b >> 30) + static_cast<int32_t>(b << 2) * 0x1p-32;
    const double r = std::sqrt(-2 * std::log(u)), angle = quarter * std::numbers::pi / 2;
    for (const auto& [value, exact] : {std::pair{z[k], r * std::cos(angle)}, {z[k + 1], r * std::sin(angle)}})
      worst = std::max(worst, std::abs(value - exact) / std::max(1.0, std::abs(exact)));
  }
  CHECK(worst < 4e-7);
  CHECK(worst > 0);
}

TEST_CASE("every instruction set gives the same bits") {
  const auto best = normals(5, 100003);
  CHECK(same_bits(best, normals(5, 100003, kKey, Isa::kBaseline)));
  if (best_isa() != Isa::kBaseline) CHECK(same_bits(best, normals(5, 100003, kKey, Isa::kAvx2)));
}

TEST_CASE("any part alone has the bits of the whole") {
  const auto whole = normals(0, 5000);
  for (const int64_t begin : {0, 1, 2, 3, 4, 255, 256, 257, 1001, 4999})
    for (const int64_t count : {0, 1, 3, 4, 5, 255, 256, 300, 1500}) {
      const int64_t n = std::min<int64_t>(count, 5000 - begin);
      const std::vector<float> part(whole.begin() + begin, whole.begin() + begin + n);
      CHECK(same_bits(part, normals(begin, n)));
    }
}

TEST_CASE("positions beyond 2 to the 34 carry into the second counter word") {
  const int64_t border = int64_t{1} << 34;  // block 2^32
  const auto across = normals(border - 300, 600);
  CHECK(same_bits({across.begin() + 300, across.end()}, normals(border, 300)));
  CHECK_FALSE(same_bits(normals(border, 300), normals(0, 300)));
}

TEST_CASE("moments and tails are those of the normal distribution") {
  constexpr int64_t kCount = 4'000'000;
  const auto z = normals(0, kCount);
  double sum = 0, square = 0, fourth = 0, neighbours = 0, lag2 = 0, lag4 = 0;
  int64_t beyond2 = 0, beyond4 = 0;
  for (size_t k = 0; k < z.size(); ++k) {
    const double v = z[k];
    sum += v, square += v * v, fourth += v * v * v * v;
    if (k >= 4) neighbours += v * z[k - 1], lag2 += v * z[k - 2], lag4 += v * z[k - 4];
    beyond2 += std::abs(v) > 2, beyond4 += std::abs(v) > 4;
  }
  // Each estimate is within 5 of its standard deviations (chance of a false alarm 6e-7 each; the stream is
  // fixed, so the test is deterministic): of the mean 1/sqrt(n), of the variance sqrt(2/n), of the fourth
  // moment sqrt(96/n), of a correlation 1/sqrt(n), of a count sqrt(n p).
  const double n = kCount, root = std::sqrt(n);
  CHECK(std::abs(sum / n) < 5 / root);
  CHECK(std::abs(square / n - 1) < 5 * std::sqrt(2) / root);
  CHECK(std::abs(fourth / n - 3) < 5 * std::sqrt(96) / root);
  for (const double correlation : {neighbours / n, lag2 / n, lag4 / n})
    CHECK(std::abs(correlation) < 5 / root);
  const double p2 = std::erfc(2 / std::sqrt(2)), p4 = std::erfc(4 / std::sqrt(2));
  CHECK(std::abs(static_cast<double>(beyond2) - n * p2) < 5 * std::sqrt(n * p2));
  CHECK(std::abs(static_cast<double>(beyond4) - n * p4) < 5 * std::sqrt(n * p4));
}

TEST_CASE("streams of neighbouring keys do not correlate") {
  constexpr int64_t kCount = 1'000'000;
  const auto a = normals(0, kCount, 1), b = normals(0, kCount, 2);
  double product = 0;
  for (size_t k = 0; k < a.size(); ++k) product += static_cast<double>(a[k]) * b[k];
  CHECK(std::abs(product / kCount) <
        5 / std::sqrt(static_cast<double>(kCount)));  // 5 standard deviations, as above
}
