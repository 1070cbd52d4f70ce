#include "data/token_scan.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

namespace trainctl::data {

namespace {

/// Zeros among words of even and odd number; counted apart from the maximum, so that both loops are vector
/// code.
void count_zeros(const std::byte* data, uint64_t first, uint64_t count, Scan& scan) {
  uint32_t even_zeros = 0;  // a stretch has fewer than 2^32 tokens; narrow counters are faster
  uint32_t odd_zeros = 0;
  const uint64_t pairs = count / 2;
  for (uint64_t i = 0; i < pairs; ++i) {
    uint32_t pair = 0;
    __builtin_memcpy(&pair, data + i * 4, 4);
    even_zeros += (pair & 0xFFFFU) == 0 ? 1 : 0;
    odd_zeros += (pair >> 16U) == 0 ? 1 : 0;
  }
  const bool swapped = first % 2 == 1;
  scan.even_zeros += swapped ? odd_zeros : even_zeros;
  scan.odd_zeros += swapped ? even_zeros : odd_zeros;
  scan.even += pairs;
  scan.odd += pairs;
}

Scan scan_stretch(const TokenSegment& segment, const Stretch& stretch, uint64_t limit) {
  Scan scan;
  const auto width = static_cast<uint64_t>(segment.width);
  const std::byte* const data = segment.data + stretch.first * width;
  if (largest_token(data, segment.width, stretch.count) >= limit) {
    scan.bad_token = stretch.first + first_at_least(data, segment.width, stretch.count, limit);
  }
  if (segment.width == 2) count_zeros(data, stretch.first, stretch.count, scan);
  scan.bytes = stretch.count * width;
  return scan;
}

void merge(Scan& into, const Scan& from) {
  if (from.bad_token) into.bad_token = std::min(*from.bad_token, into.bad_token.value_or(*from.bad_token));
  into.odd_zeros += from.odd_zeros, into.even_zeros += from.even_zeros;
  into.odd += from.odd, into.even += from.even;
  into.bytes += from.bytes;
}

}  // namespace

std::vector<Scan> scan_tokens(const std::vector<TokenSegment>& segments,
                              const std::vector<Stretch>& stretches, uint64_t limit, int threads,
                              std::chrono::steady_clock::time_point deadline) {
  std::vector<Scan> scans(segments.size());
  std::mutex mutex;
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < stretches.size() && std::chrono::steady_clock::now() < deadline; i = next++) {
      const Scan scan = scan_stretch(segments[stretches[i].segment], stretches[i], limit);
      const std::lock_guard lock(mutex);
      merge(scans[stretches[i].segment], scan);
    }
  };
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(work);
  work();
  for (auto& thread : others) thread.join();
  return scans;
}

bool looks_like_uint32(const Scan& scan) {
  // 16 words: fewer say nothing.  Real text has hardly a token id 0, so neither half comes near these shares.
  return scan.odd >= 16 && scan.odd_zeros * 2 >= scan.odd && scan.even_zeros * 4 <= scan.even;
}

}  // namespace trainctl::data
