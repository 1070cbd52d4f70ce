// Compiled with -O3 -fopenmp-simd: `omp simd reduction` lets a sum or a maximum be taken in vector lanes,
// without a global -ffast-math that would lose NaNs.
#include "train/cross_entropy_rows.h"

#include <bit>
#include <cmath>
#include <limits>

// Not with AddressSanitizer: the loader picks a clone before the sanitizer has set itself up.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define TRAINCTL_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TRAINCTL_CLONES
#endif
#define TRAINCTL_INLINE inline __attribute__((always_inline))

namespace trainctl::train {
namespace {

TRAINCTL_INLINE float load(float x) { return x; }
TRAINCTL_INLINE float load(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

TRAINCTL_INLINE void store(float& to, float x) { to = x; }
TRAINCTL_INLINE void store(uint16_t& to, float x) {  // nearest, ties to even
  const auto bits = std::bit_cast<uint32_t>(x);
  to = static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/// exp(x) for x <= 0 to 2 ulp; NaN stays NaN, anything below the smallest normal number becomes 0.
/// x = n ln2 + r with |r| <= ln2 / 2; exp(r) by its series to r^7, which is below half an ulp there.
TRAINCTL_INLINE float exp_nonpositive(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  const float shifted = x * 1.44269504f + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;  // ln2 in two parts, the first exact times n
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * (r * r) + r;
  const uint32_t exponent = (std::bit_cast<uint32_t>(shifted) + 127u) << 23;
  const float y = p * std::bit_cast<float>(exponent) + std::bit_cast<float>(exponent);
  return x < -87.3f ? 0.0f : y;
}

template <class Float>
TRAINCTL_INLINE float largest(const Float* row, int64_t n) {
  float top = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : top)
  for (int64_t j = 0; j < n; ++j) {
    const float x = load(row[j]);
    top = x > top ? x : top;  // passes over NaNs; they show in the sum
  }
  return top;
}

template <class Float>
TRAINCTL_INLINE float sum_of_exp(const Float* row, int64_t n, float top) {
  constexpr int64_t kBlock = 1024;  // fp32 lanes within a block, a double over blocks: long rows lose no bits
  double sum = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = begin + kBlock < n ? begin + kBlock : n;
    float block = 0;
#pragma omp simd reduction(+ : block)
    for (int64_t j = begin; j < end; ++j) block += exp_nonpositive(load(row[j]) - top);
    sum += block;
  }
  return static_cast<float>(sum);
}

template <class Float>
TRAINCTL_INLINE void scaled_exp(Float* row, int64_t n, float top, float scale) {
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) store(row[j], scale * exp_nonpositive(load(row[j]) - top));
}

template <class Float>
TRAINCTL_INLINE int64_t forward(const LogitRows<Float>& rows, int64_t begin, int64_t end, double* loss) {
  for (int64_t i = begin; i < end; ++i) {
    const Float* const row = rows.logits + i * rows.num_classes;
    const int64_t target = rows.target[i];
    loss[i] = 0;
    if (target == rows.ignore_index) continue;
    if (target < 0 || target >= rows.num_classes) return i;
    rows.top[i] = largest(row, rows.num_classes);
    rows.sum[i] = sum_of_exp(row, rows.num_classes, rows.top[i]);
    const double below_top = static_cast<double>(rows.top[i]) - load(row[target]);
    loss[i] = std::log(static_cast<double>(rows.sum[i])) + below_top;
  }
  return -1;
}

template <class Float>
TRAINCTL_INLINE void backward(const LogitRows<Float>& rows, int64_t begin, int64_t end, float scale) {
  for (int64_t i = begin; i < end; ++i) {
    Float* const row = rows.logits + i * rows.num_classes;
    const int64_t target = rows.target[i];
    if (target == rows.ignore_index) {
      for (int64_t j = 0; j < rows.num_classes; ++j) row[j] = 0;
      continue;
    }
    // The target's own entry is kept in fp32 through both terms, as the difference may be small.
    const float at_target = exp_nonpositive(load(row[target]) - rows.top[i]) / rows.sum[i] - 1.0f;
    scaled_exp(row, rows.num_classes, rows.top[i], scale / rows.sum[i]);
    store(row[target], scale * at_target);
  }
}

}  // namespace

TRAINCTL_CLONES int64_t forward_rows(const LogitRows<float>& rows, int64_t begin, int64_t end, double* loss) {
  return forward(rows, begin, end, loss);
}
TRAINCTL_CLONES int64_t forward_rows(const LogitRows<uint16_t>& rows, int64_t begin, int64_t end,
                                     double* loss) {
  return forward(rows, begin, end, loss);
}
TRAINCTL_CLONES void backward_rows(const LogitRows<float>& rows, int64_t begin, int64_t end, float scale) {
  backward(rows, begin, end, scale);
}
TRAINCTL_CLONES void backward_rows(const LogitRows<uint16_t>& rows, int64_t begin, int64_t end, float scale) {
  backward(rows, begin, end, scale);
}

}  // namespace trainctl::train
