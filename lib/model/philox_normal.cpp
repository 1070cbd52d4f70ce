// Compiled with -O3 -ffp-contract=off -fno-math-errno (CMakeLists.txt): the loops below are written for the
// compiler to vectorise, and must round alike for every instruction set.
#include "model/philox_normal.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace trainctl::model {
namespace {

constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;
constexpr int kLanes = 64;          // counters worked on at once
constexpr int kGroup = 4 * kLanes;  // elements that they make

[[gnu::always_inline]] inline uint32_t high(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>((static_cast<uint64_t>(a) * b) >> 32);
}

/// log(u) for u in (0, 1]: u = 2^e m with m in [sqrt(1/2), sqrt(2)), log m = 2 atanh((m - 1) / (m + 1)).
[[gnu::always_inline]] inline float log_unit(float u) {
  constexpr int32_t kSqrtHalf = 0x3F3504F3;
  const int32_t bits = std::bit_cast<int32_t>(u);
  const int32_t e = (bits - kSqrtHalf) >> 23;
  const float m = std::bit_cast<float>(bits - e * (1 << 23));
  const float q = (m - 1.0f) / (m + 1.0f);
  const float w = q * q;
  const float p = 2.0f + w * (0.6666682f + w * (0.3997474f + w * 0.29927373f));
  return static_cast<float>(e) * 0.6931472f + q * p;
}

/// Box-Muller: two words to two normals.  `a` gives the radius (31 bits, so that the tail reaches 6.66), `b`
/// the angle: its low 30 bits are the place t in a quarter turn, [-1/2, 1/2), its upper two the quarter.
[[gnu::always_inline]] inline void two_normals(uint32_t a, uint32_t b, float scale, float& z0, float& z1) {
  const float u = (static_cast<float>(static_cast<int32_t>(a >> 1)) + 0.5f) * 0x1p-31f;
  const float r = scale * std::sqrt(std::max(0.0f, -2.0f * log_unit(u)));
  const float t = static_cast<float>(static_cast<int32_t>(b << 2)) * 0x1p-32f;
  const float w = t * t;
  const float s =
      t * (1.5707963f + w * (-0.64596409f + w * (0.07969258f + w * (-0.004681266f + w * 0.0001582063f))));
  const float c = 1.0f + w * (-1.2337005f + w * (0.2536692f + w * (-0.02086007f + w * 0.0009036281f)));
  const uint32_t quarter = b >> 30;
  const uint32_t swap = 0u - (quarter & 1u);  // odd quarters: cos(x + pi/2) = -sin x, sin(x + pi/2) = cos x
  const uint32_t sin_bits = std::bit_cast<uint32_t>(s), cos_bits = std::bit_cast<uint32_t>(c);
  const uint32_t sign_cos = ((quarter + 1) >> 1) << 31, sign_sin = (quarter >> 1) << 31;
  z0 = r * std::bit_cast<float>(((cos_bits & ~swap) | (sin_bits & swap)) ^ sign_cos);
  z1 = r * std::bit_cast<float>(((sin_bits & ~swap) | (cos_bits & swap)) ^ sign_sin);
}

/// The kGroup elements of the counters first .. first + kLanes - 1.
[[gnu::always_inline]] inline void group(float* __restrict out, uint64_t first, uint64_t key, float scale) {
  alignas(64) uint32_t x0[kLanes], x1[kLanes], x2[kLanes], x3[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    const uint32_t low = static_cast<uint32_t>(first);
    uint32_t c0 = low + static_cast<uint32_t>(i), c2 = 0, c3 = 0;
    uint32_t c1 = static_cast<uint32_t>(first >> 32) + (c0 < low ? 1u : 0u);  // 64-bit sums do not vectorise
    uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < kRounds; ++round) {
      const uint32_t hi0 = high(kMultiplier0, c0), lo0 = kMultiplier0 * c0;
      const uint32_t hi1 = high(kMultiplier1, c2), lo1 = kMultiplier1 * c2;
      c0 = hi1 ^ c1 ^ k0, c1 = lo1, c2 = hi0 ^ c3 ^ k1, c3 = lo0;
      k0 += kWeyl0, k1 += kWeyl1;
    }
    x0[i] = c0, x1[i] = c1, x2[i] = c2, x3[i] = c3;
  }
  for (int i = 0; i < kLanes; ++i) {
    float z0, z1, z2, z3;
    two_normals(x0[i], x1[i], scale, z0, z1);
    two_normals(x2[i], x3[i], scale, z2, z3);
    out[4 * i] = z0, out[4 * i + 1] = z1, out[4 * i + 2] = z2, out[4 * i + 3] = z3;
  }
}

[[gnu::always_inline]] inline void fill(float* out, int64_t begin, int64_t count, uint64_t key, float scale) {
  const int64_t end = begin + count;
  int64_t k = begin;
  while (k < end) {
    const int64_t start = k - k % 4;
    if (k == start && end - k >= kGroup) {
      group(out + (k - begin), static_cast<uint64_t>(start) / 4, key, scale);
      k += kGroup;
      continue;
    }
    float part[kGroup];  // the ragged ends
    group(part, static_cast<uint64_t>(start) / 4, key, scale);
    const int64_t n = std::min(start + kGroup, end) - k;
    std::copy_n(part + (k - start), n, out + (k - begin));
    k += n;
  }
}

[[gnu::target("avx512f,avx512dq,avx512vl,avx512bw")]] void fill_avx512(float* out, int64_t begin,
                                                                       int64_t count, uint64_t key,
                                                                       float scale) {
  fill(out, begin, count, key, scale);
}

[[gnu::target("avx2")]] void fill_avx2(float* out, int64_t begin, int64_t count, uint64_t key, float scale) {
  fill(out, begin, count, key, scale);
}

void fill_baseline(float* out, int64_t begin, int64_t count, uint64_t key, float scale) {
  fill(out, begin, count, key, scale);
}

}  // namespace

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, uint64_t key) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < kRounds; ++round) {
    c = {high(kMultiplier1, c[2]) ^ c[1] ^ k0, kMultiplier1 * c[2], high(kMultiplier0, c[0]) ^ c[3] ^ k1,
         kMultiplier0 * c[0]};
    k0 += kWeyl0, k1 += kWeyl1;
  }
  return c;
}

Isa best_isa() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
    return Isa::kAvx512;
  return __builtin_cpu_supports("avx2") ? Isa::kAvx2 : Isa::kBaseline;
}

void fill_normal(float* out, int64_t begin, int64_t count, uint64_t key, float scale, Isa isa) {
  switch (isa) {
    case Isa::kAvx512:
      return fill_avx512(out, begin, count, key, scale);
    case Isa::kAvx2:
      return fill_avx2(out, begin, count, key, scale);
    case Isa::kBaseline:
      return fill_baseline(out, begin, count, key, scale);
  }
}

}  // namespace trainctl::model
