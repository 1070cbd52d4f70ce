#include "data/token_stream.h"

#include <algorithm>
#include <cstring>

namespace trainctl::data {

namespace {

// memcpy: a header may leave tokens at odd addresses; compilers make plain (vector) loads of it.
template <class T>
T load(const std::byte* data, uint64_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

template <class T>
uint64_t widen(const std::byte* data, uint64_t count, int64_t* out) {
  T largest = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const T value = load<T>(data, i);
    largest = std::max(largest, value);
    out[i] = static_cast<int64_t>(value);
  }
  return largest;
}

template <class T>
uint64_t largest(const std::byte* data, uint64_t count) {
  T value = 0;
  for (uint64_t i = 0; i < count; ++i) value = std::max(value, load<T>(data, i));
  return value;
}

}  // namespace

uint64_t largest_token(const std::byte* data, int width, uint64_t count) {
  switch (width) {
    case 1:
      return largest<uint8_t>(data, count);
    case 2:
      return largest<uint16_t>(data, count);
    case 4:
      return largest<uint32_t>(data, count);
    default:
      return largest<uint64_t>(data, count);
  }
}

uint64_t token_at(const std::byte* data, int width, uint64_t index) {
  uint64_t value = 0;
  std::memcpy(&value, data + index * static_cast<uint64_t>(width), static_cast<size_t>(width));
  return value;
}

uint64_t first_at_least(const std::byte* data, int width, uint64_t count, uint64_t limit) {
  uint64_t i = 0;
  while (i < count && token_at(data, width, i) < limit) ++i;
  return i;
}

void TokenStream::append(TokenSegment segment) {
  starts_.push_back(size_);
  size_ += segment.count;
  segments_.push_back(std::move(segment));
}

size_t TokenStream::segment_of(uint64_t token) const {
  return static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), token) - starts_.begin()) - 1;
}

uint64_t TokenStream::read(uint64_t first, uint64_t count, int64_t* out) const {
  uint64_t seen = 0;
  for (size_t s = count > 0 ? segment_of(first) : 0; count > 0; ++s) {
    const TokenSegment& segment = segments_.at(s);
    const uint64_t skip = first - starts_[s];
    const uint64_t n = std::min(count, segment.count - skip);
    const std::byte* const data = segment.data + skip * static_cast<uint64_t>(segment.width);
    switch (segment.width) {
      case 1:
        seen = std::max(seen, widen<uint8_t>(data, n, out));
        break;
      case 2:
        seen = std::max(seen, widen<uint16_t>(data, n, out));
        break;
      case 4:
        seen = std::max(seen, widen<uint32_t>(data, n, out));
        break;
      default:
        seen = std::max(seen, widen<uint64_t>(data, n, out));
        break;
    }
    first += n, out += n, count -= n;
  }
  return seen;
}

TokenPlace TokenStream::place(uint64_t token) const {
  const size_t s = segment_of(token);
  const uint64_t local = token - starts_[s];
  return {segments_[s].path, local,
          segments_[s].offset_bytes + local * static_cast<uint64_t>(segments_[s].width)};
}

}  // namespace trainctl::data
