#include "tokenizer/bpe.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <queue>

namespace trainctl::tokenizer {

namespace {

constexpr size_t kShortPiece = 48;  // tokens; above it the quadratic search costs more than a heap

uint64_t pair_of(uint32_t left, uint32_t right) { return uint64_t{left} << 32U | right; }

uint64_t mix(uint64_t x) {
  x *= 0x9E3779B97F4A7C15ULL;
  return x ^ (x >> 32U);
}

}  // namespace

void Bpe::reserve_merges(size_t count) { slots_.assign(std::bit_ceil(std::max<size_t>(2 * count, 16)), {}); }

const Bpe::Slot& Bpe::find(uint64_t pair) const {
  const size_t mask = slots_.size() - 1;
  size_t at = mix(pair) & mask;
  while (slots_[at].pair != pair && slots_[at].pair != ~uint64_t{0}) at = (at + 1) & mask;
  return slots_[at];
}

void Bpe::add_merge(uint32_t left, uint32_t right, Merge merge) {
  Slot& slot = const_cast<Slot&>(find(pair_of(left, right)));
  slot = {pair_of(left, right), merge};
}

Merge Bpe::merge_of(uint32_t left, uint32_t right) const {
  const uint64_t pair = pair_of(left, right);
  const Slot& slot = find(pair);
  return slot.pair == pair ? slot.merge : Merge{kNoRank, 0};
}

void Bpe::encode(std::string_view piece, std::vector<uint32_t>& ids) const {
  if (ignore_merges) {
    if (const auto whole = vocabulary.find(std::string(piece)); whole != vocabulary.end()) {
      ids.push_back(whole->second);
      return;
    }
  }
  const size_t begin = ids.size();
  for (const char c : piece) ids.push_back(byte_ids[static_cast<unsigned char>(c)]);
  if (piece.size() <= kShortPiece) {
    merge_short(ids, begin);
  } else {
    merge_long(ids, begin);
  }
}

void Bpe::merge_short(std::vector<uint32_t>& ids, size_t begin) const {
  size_t n = ids.size() - begin;
  uint32_t* const id = ids.data() + begin;
  std::array<Merge, kShortPiece> merges;  // merges[i]: of tokens i and i + 1
  for (size_t i = 0; i + 1 < n; ++i) merges[i] = merge_of(id[i], id[i + 1]);
  while (n > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < n; ++i) {
      if (merges[i].rank < merges[best].rank) best = i;
    }
    if (merges[best].rank == kNoRank) break;
    id[best] = merges[best].id;
    for (size_t i = best + 1; i + 1 < n; ++i) id[i] = id[i + 1], merges[i] = merges[i + 1];
    --n;
    // merges[best] was of the pair; what followed it moved down by one
    if (best + 1 < n) merges[best] = merge_of(id[best], id[best + 1]);
    if (best > 0) merges[best - 1] = merge_of(id[best - 1], id[best]);
  }
  ids.resize(begin + n);
}

void Bpe::merge_long(std::vector<uint32_t>& ids, size_t begin) const {
  struct Candidate {
    uint32_t rank;
    int64_t left;
    uint32_t left_id, right_id;
    bool operator<(const Candidate& o) const { return rank != o.rank ? rank > o.rank : left > o.left; }
  };
  const auto n = static_cast<int64_t>(ids.size() - begin);
  uint32_t* const id = ids.data() + begin;
  std::vector<int64_t> previous(static_cast<size_t>(n));
  std::vector<int64_t> next(static_cast<size_t>(n));  // n: none
  std::vector<bool> gone(static_cast<size_t>(n));
  std::priority_queue<Candidate> queue;
  const auto offer = [&](int64_t left) {
    if (left < 0 || next[left] >= n) return;
    const Merge merge = merge_of(id[left], id[next[left]]);
    if (merge.rank != kNoRank) queue.push({merge.rank, left, id[left], id[next[left]]});
  };
  for (int64_t i = 0; i < n; ++i) previous[i] = i - 1, next[i] = i + 1;
  for (int64_t i = 0; i < n; ++i) offer(i);
  while (!queue.empty()) {
    const Candidate c = queue.top();
    queue.pop();
    const int64_t right = gone[c.left] ? n : next[c.left];
    if (right >= n || id[c.left] != c.left_id || id[right] != c.right_id) continue;  // merged meanwhile
    id[c.left] = merge_of(c.left_id, c.right_id).id;
    gone[right] = true;
    next[c.left] = next[right];
    if (next[right] < n) previous[next[right]] = c.left;
    offer(previous[c.left]);
    offer(c.left);
  }
  size_t kept = 0;
  for (int64_t i = 0; i < n; i = next[i]) id[kept++] = id[i];
  ids.resize(begin + kept);
}

PieceCache::PieceCache(size_t text_bytes)
    : entries_(std::bit_ceil(std::clamp<size_t>(text_bytes / 8, 16, 1U << 15U))) {}

void PieceCache::encode(const Bpe& bpe, std::string_view piece, std::vector<uint32_t>& ids) {
  if (piece.size() > kMaxBytes) {
    bpe.encode(piece, ids);
    return;
  }
  Entry& entry = entries_[XXH3_64bits(piece.data(), piece.size()) & (entries_.size() - 1)];
  if (entry.num_bytes == piece.size() && std::memcmp(entry.bytes.data(), piece.data(), piece.size()) == 0) {
    ids.insert(ids.end(), entry.ids.begin(), entry.ids.begin() + entry.num_ids);
    return;
  }
  const size_t begin = ids.size();
  bpe.encode(piece, ids);
  if (ids.size() - begin > kMaxIds) return;
  entry.num_bytes = static_cast<uint8_t>(piece.size());
  entry.num_ids = static_cast<uint8_t>(ids.size() - begin);
  std::memcpy(entry.bytes.data(), piece.data(), piece.size());
  std::copy(ids.begin() + static_cast<std::ptrdiff_t>(begin), ids.end(), entry.ids.begin());
}

}  // namespace trainctl::tokenizer
