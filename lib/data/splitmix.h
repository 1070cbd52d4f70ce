// splitmix.h: SplitMix64 (Steele, Lea, Flood 2014) as a hash of a counter.
#pragma once

#include <cstdint>

namespace trainctl::data {

/// The j-th output of SplitMix64 seeded with 0, j = 0, 1, ...; equally a good mix of any 64 bits.
constexpr uint64_t splitmix64(uint64_t j) {
  uint64_t z = j + 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

}  // namespace trainctl::data
