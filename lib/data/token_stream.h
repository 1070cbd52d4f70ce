// token_stream.h: token ids as they lie in files: unsigned little-endian integers of 1, 2, 4 or 8 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/mapped_file.h"

namespace trainctl::data {

/// A stretch of tokens in one file, or in memory that `owner` keeps.
struct TokenSegment {
  std::string path;  // for messages
  std::shared_ptr<const void> owner;
  const std::byte* data = nullptr;
  int width = 2;              // bytes a token
  uint64_t count = 0;         // tokens
  uint64_t offset_bytes = 0;  // of the first token in the file
};

/// Where a token lies.
struct TokenPlace {
  std::string path;
  uint64_t token = 0;         // counted from the file's first
  uint64_t offset_bytes = 0;  // in the file
};

/// Segments read as one sequence.
class TokenStream {
 public:
  void append(TokenSegment segment);
  uint64_t size() const { return size_; }
  const std::vector<TokenSegment>& segments() const { return segments_; }
  /// Writes tokens [first, first + count) to `out`; returns the largest, 0 where there are none.
  uint64_t read(uint64_t first, uint64_t count, int64_t* out) const;
  TokenPlace place(uint64_t token) const;

 private:
  size_t segment_of(uint64_t token) const;
  std::vector<TokenSegment> segments_;
  std::vector<uint64_t> starts_;  // of each segment in the sequence
  uint64_t size_ = 0;
};

/// The largest of `count` tokens of `width` bytes at `data`, and the first at or above `limit` (count: none).
uint64_t largest_token(const std::byte* data, int width, uint64_t count);
uint64_t first_at_least(const std::byte* data, int width, uint64_t count, uint64_t limit);
/// Token number `index` of a stretch.
uint64_t token_at(const std::byte* data, int width, uint64_t index);

}  // namespace trainctl::data
