// token_scan.h: looks at the values of many stretches of tokens or labels, with all cores, until a deadline.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "data/token_stream.h"

namespace trainctl::data {

/// A stretch of a segment: tokens [first, first + count).
struct Stretch {
  size_t segment = 0;
  uint64_t first = 0, count = 0;
};

/// What was seen of one segment.
struct Scan {
  std::optional<uint64_t> bad_token;       // lowest token seen that is at or above the limit
  uint64_t odd_zeros = 0, even_zeros = 0;  // zero words among those of odd and of even number
  uint64_t odd = 0, even = 0;              // words seen
  uint64_t bytes = 0;
};

/// Scans the stretches in order of the list, over `threads` threads; those not begun at `deadline` are left
/// out. Returns one Scan a segment.  limit: the vocabulary.
std::vector<Scan> scan_tokens(const std::vector<TokenSegment>& segments,
                              const std::vector<Stretch>& stretches, uint64_t limit, int threads,
                              std::chrono::steady_clock::time_point deadline);

/// A uint32 file read as uint16: most odd words (the upper halves of ids below 65,536) are zero, while even
/// ones are not.
bool looks_like_uint32(const Scan& scan);

}  // namespace trainctl::data
