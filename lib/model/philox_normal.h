// philox_normal.h: normal numbers by position.  Element k of a stream depends on the stream's key and on k
// alone, so any rank can make any part of a tensor, in any order, and all get the same bits on every x86-64
// machine. No tensors here, and no state.
#pragma once

#include <array>
#include <cstdint>

namespace trainctl::model {

/// Philox 4x32-10 (Salmon et al. 2011): ten rounds of one counter under a 64-bit key.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, uint64_t key);

/// The instruction sets that the loop is compiled for.  All give equal bits (no fused multiply-add, no
/// approximate division or root), which a test holds them to.
enum class Isa { kBaseline, kAvx2, kAvx512 };

/// The best set that this processor has.
Isa best_isa();

/// out[i] = scale * z(begin + i) for i in [0, count), z standard normal by Box and Muller (1958): the four
/// words of philox({b, b >> 32, 0, 0}, key), b = k / 4, make the elements 4b .. 4b + 3.  |z| <= 6.66.
/// Sine, cosine and logarithm are polynomials and u is a float32; for that u the result is within
/// 4e-7 max(1, |z|) of the formula in double precision.
void fill_normal(float* out, int64_t begin, int64_t count, uint64_t key, float scale, Isa isa);

}  // namespace trainctl::model
