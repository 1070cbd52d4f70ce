#include "tokenizer/byte_level.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <thread>

#include "util/diagnostic.h"

namespace trainctl::tokenizer {

namespace {

constexpr size_t kChunk = size_t{1} << 18;  // bytes of a thread's part of a long text
constexpr size_t kMarks = 256;              // pieces at whose borders two chunks may meet

/// A stretch of text, or an added token found in it.
struct Segment {
  std::string_view text;
  const AddedToken* added = nullptr;
};

/// Finds added tokens: leftmost first, of several at one place the longest.
class AddedFinder {
 public:
  void add(const AddedToken& token) {
    if (token.content.empty()) return;
    auto& list = by_first_[static_cast<unsigned char>(token.content.front())];
    list.push_back(&token);
    const auto longer = [](const auto* a, const auto* b) { return a->content.size() > b->content.size(); };
    std::stable_sort(list.begin(), list.end(), longer);
    if (list.size() == 1) first_bytes_ += token.content.front();
  }
  void split(std::string_view text, std::vector<Segment>& out) const {
    size_t begin = 0;
    for (size_t at = text.find_first_of(first_bytes_); at != std::string_view::npos;
         at = text.find_first_of(first_bytes_, at)) {
      const AddedToken* const token = match(text.substr(at));
      if (token == nullptr) {
        ++at;
        continue;
      }
      if (at > begin) out.push_back({text.substr(begin, at - begin)});
      out.push_back({text.substr(at, token->content.size()), token});
      begin = at += token->content.size();
    }
    if (begin < text.size()) out.push_back({text.substr(begin)});
  }

 private:
  const AddedToken* match(std::string_view text) const {
    for (const auto* token : by_first_[static_cast<unsigned char>(text.front())]) {
      if (text.starts_with(token->content)) return token;
    }
    return nullptr;
  }
  std::array<std::vector<const AddedToken*>, 256> by_first_;
  std::string first_bytes_;
};

/// The ids of the pieces that begin in one chunk of a text.
struct Chunk {
  std::vector<uint32_t> ids;
  std::vector<std::pair<size_t, size_t>>
      marks;       // where the first pieces begin, and the number of ids before them
  size_t end = 0;  // of the last piece, at or behind the chunk's
};

class ByteLevel : public Tokenizer {
 public:
  explicit ByteLevel(ByteLevelParts parts) : parts_(std::move(parts)) {
    for (const auto& token : parts_.added) (token.normalized ? late_ : early_).add(token);
  }

  int64_t vocab_size() const override { return static_cast<int64_t>(parts_.bytes_of.size()); }

  void encode(std::string_view text, std::vector<uint32_t>& ids) const override {
    PieceCache cache(text.size());
    for_segments(text, ids,
                 [&](std::string_view part) { encode_pieces(part, 0, part.size(), cache, nullptr, ids); });
  }

  void encode_parallel(std::string_view text, int threads, const Sink& sink,
                       const Progress& progress) const override {
    uint64_t done = 0;
    std::vector<uint32_t> ids;  // collected from many small parts
    const auto flush = [&](size_t least) {
      if (ids.size() < least) return;
      sink(ids);
      ids.clear();
      if (progress) progress(done);
    };
    PieceCache cache(text.size());
    for_segments(text, ids, [&](std::string_view part) {
      if (threads <= 1 || part.size() < 2 * kChunk) {
        encode_pieces(part, 0, part.size(), cache, nullptr, ids);
      } else {
        flush(1);
        encode_long(part, threads, sink, [&](uint64_t bytes) {
          if (progress) progress(done + bytes);
        });
      }
      done += part.size();
      flush(kChunk);
    });
    done = text.size();
    flush(1);
    if (progress) progress(done);
  }

  std::string decode(std::span<const uint32_t> ids) const override {
    std::string text;
    for (const uint32_t id : ids) {
      if (id >= parts_.known.size() || !parts_.known[id]) {
        throw UserError(fmt::format("token {} is not in the tokenizer's vocabulary of {}", id, vocab_size()),
                        "");
      }
      text += parts_.bytes_of[id];
    }
    return text;
  }

  std::string identity() const override { return parts_.identity; }

 private:
  /// Calls `encode_text` for every stretch of text, pushes the ids of added tokens, in order.
  template <class EncodeText>
  void for_segments(std::string_view text, std::vector<uint32_t>& ids, EncodeText encode_text) const {
    std::vector<Segment> segments;
    early_.split(text, segments);
    std::vector<Segment> inner;
    for (const auto& outer : segments) {
      inner.clear();
      if (outer.added != nullptr) {
        inner.push_back(outer);
      } else {
        late_.split(outer.text, inner);
      }
      for (const auto& segment : inner) {
        if (segment.added != nullptr) {
          ids.push_back(segment.added->id);
        } else if (parts_.add_prefix_space && segment.text.front() != ' ') {
          encode_text(" " + std::string(segment.text));
        } else {
          encode_text(segment.text);
        }
      }
    }
  }

  /// Appends the ids of the pieces that begin in [begin, end) of `text`; `begin` is a border.  Returns the
  /// end of the last one.  Notes the first borders in `marks`, where it is not null.
  size_t encode_pieces(std::string_view text, size_t begin, size_t end, PieceCache& cache,
                       std::vector<std::pair<size_t, size_t>>* marks, std::vector<uint32_t>& ids) const {
    if (!parts_.splitter) {
      if (begin == 0 && !text.empty()) cache.encode(parts_.bpe, text, ids);
      return text.size();
    }
    Splitter::Walk walk(*parts_.splitter, text, begin);
    size_t at = begin;
    while (at < end) {
      if (marks != nullptr && marks->size() < kMarks) marks->emplace_back(at, ids.size());
      const std::string_view piece = walk.next();
      cache.encode(parts_.bpe, piece, ids);
      at += piece.size();
    }
    return at;
  }

  /// One text, cut into chunks that threads encode at once.  A chunk may begin inside a piece: its first
  /// pieces are then wrong, but what follows a border depends on the border alone, so from the first border
  /// that the chunk before reaches as well all are right.
  void encode_long(std::string_view text, int threads, const Sink& sink, const Progress& progress) const {
    size_t begin = 0;   // of the wave of chunks
    size_t border = 0;  // all before it is done
    while (begin < text.size()) {
      std::vector<size_t> cuts{begin};
      for (int t = 0; t < threads && cuts.back() < text.size(); ++t)
        cuts.push_back(next_cut(text, cuts.back() + kChunk));
      for (const Chunk& chunk : encode_wave(text, cuts)) border = join(text, border, chunk, sink);
      begin = cuts.back();
      progress(begin);
    }
  }

  std::vector<Chunk> encode_wave(std::string_view text, const std::vector<size_t>& cuts) const {
    std::vector<Chunk> chunks(cuts.size() - 1);
    std::vector<std::exception_ptr> errors(chunks.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < chunks.size(); ++i) {
      threads.emplace_back([&, i] {
        try {
          PieceCache cache(kChunk);
          chunks[i].end = encode_pieces(text, cuts[i], cuts[i + 1], cache, &chunks[i].marks, chunks[i].ids);
        } catch (...) {
          errors[i] = std::current_exception();
        }
      });
    }
    for (auto& thread : threads) thread.join();
    for (const auto& error : errors) {
      if (error) std::rethrow_exception(error);
    }
    return chunks;
  }

  /// Gives the sink the ids of `chunk` from `border` on, which is where the chunk before ended; returns its
  /// end.
  size_t join(std::string_view text, size_t border, const Chunk& chunk, const Sink& sink) const {
    std::vector<uint32_t> between;
    PieceCache cache(16);
    while (border < chunk.end) {
      const auto mark =
          std::lower_bound(chunk.marks.begin(), chunk.marks.end(), std::pair(border, size_t{0}));
      if (mark != chunk.marks.end() && mark->first == border) {
        if (!between.empty()) sink(between);
        sink(std::span(chunk.ids).subspan(mark->second));
        return chunk.end;
      }
      border = encode_pieces(text, border, border + 1, cache, nullptr, between);  // one piece
    }
    if (!between.empty()) sink(between);
    return border;
  }

  /// A place at or shortly behind `wish` where a line begins, which hardly a pattern's piece spans; else any
  /// place where a character begins.
  static size_t next_cut(std::string_view text, size_t wish) {
    if (wish >= text.size()) return text.size();
    for (size_t at = wish; at < std::min(wish + 4096, text.size()); ++at) {
      if (text[at - 1] == '\n' && text[at] > ' ') return at;
    }
    while (wish < text.size() && (static_cast<unsigned char>(text[wish]) & 0xC0U) == 0x80U) ++wish;
    return wish;
  }

  ByteLevelParts parts_;
  AddedFinder early_, late_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_level(ByteLevelParts parts) {
  return std::make_unique<ByteLevel>(std::move(parts));
}

}  // namespace trainctl::tokenizer
