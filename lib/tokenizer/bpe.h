// bpe.h: byte-pair encoding of one piece of text (Sennrich et al. 2016, over bytes as GPT-2 does): begin with
// one token a byte; while a neighbouring pair can merge, merge the pair of lowest rank, the leftmost of equal
// ones.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace trainctl::tokenizer {

/// What a pair of tokens becomes.  Lower ranks merge first.
struct Merge {
  uint32_t rank = 0, id = 0;
};

class Bpe {
 public:
  std::array<uint32_t, 256> byte_ids{};                  // the token of each byte
  std::unordered_map<std::string, uint32_t> vocabulary;  // bytes to id
  bool ignore_merges = false;                            // a piece that is in the vocabulary is one token

  void reserve_merges(size_t count);
  /// The last of equal pairs counts.
  void add_merge(uint32_t left, uint32_t right, Merge merge);
  /// Appends the ids of `piece`.
  void encode(std::string_view piece, std::vector<uint32_t>& ids) const;

 private:
  struct Slot {
    uint64_t pair = ~uint64_t{0};
    Merge merge;
  };
  static constexpr uint32_t kNoRank = ~uint32_t{0};
  const Slot& find(uint64_t pair) const;
  Merge merge_of(uint32_t left, uint32_t right) const;  // rank kNoRank: they do not merge
  void merge_short(std::vector<uint32_t>& ids, size_t begin) const;
  void merge_long(std::vector<uint32_t>& ids, size_t begin) const;

  std::vector<Slot> slots_ = std::vector<Slot>(16);  // open addressing, a power of two, at most half full
};

/// The ids of short pieces seen before: most of a text is the same few thousand words.  For one thread.
class PieceCache {
 public:
  /// For a text of this size.
  explicit PieceCache(size_t text_bytes);
  /// Bpe::encode, remembered.
  void encode(const Bpe& bpe, std::string_view piece, std::vector<uint32_t>& ids);

 private:
  static constexpr size_t kMaxBytes = 31, kMaxIds = 15;
  struct Entry {
    uint8_t num_bytes = 0, num_ids = 0;
    std::array<char, kMaxBytes> bytes;
    std::array<uint32_t, kMaxIds> ids;
  };
  std::vector<Entry> entries_;  // a power of two; an entry holds the last piece that fell on it
};

}  // namespace trainctl::tokenizer
