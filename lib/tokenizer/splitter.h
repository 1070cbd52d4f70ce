// splitter.h: cuts text into the pieces that BPE merges within, by a regular expression (PCRE2, UTF and
// Unicode properties).  Only this file's .cpp sees PCRE2.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace trainctl::tokenizer {

class Splitter {
 public:
  /// Throws UserError where the pattern is not valid.
  explicit Splitter(const std::string& pattern);
  Splitter(Splitter&& other) noexcept : code_(std::exchange(other.code_, nullptr)) {}
  Splitter& operator=(Splitter&&) = delete;
  ~Splitter();

  /// A walk over `text` from byte `begin`, which must be a piece's border.  Matches are pieces, and so is
  /// what lies between two matches ("isolated").  Look-around sees all of `text`.  Bytes that are no valid
  /// UTF-8 match nothing, and so come in pieces of their own.
  class Walk {
   public:
    Walk(const Splitter& splitter, std::string_view text, size_t begin);
    ~Walk();
    Walk(const Walk&) = delete;
    Walk& operator=(const Walk&) = delete;
    /// The next piece; empty at the end of the text.
    std::string_view next();

   private:
    void search();
    const Splitter& splitter_;
    std::string_view text_;
    size_t at_, match_begin_ = 0, match_end_ = 0;  // the next match, where match_end_ > at_
    void* data_;
  };

 private:
  void* code_ = nullptr;
};

}  // namespace trainctl::tokenizer
