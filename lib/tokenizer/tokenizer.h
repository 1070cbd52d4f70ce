// tokenizer.h: text to token ids and back.  Files and memory only: which tokenizer a job asks for is the
// spec's business, where token files lie is lib/data's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainctl::tokenizer {

enum class Kind { kBytes, kSentencepiece, kHuggingface };

/// Immutable; every member may be called from any thread.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Ids are below this.
  virtual int64_t vocab_size() const = 0;

  /// Appends the ids of `text`; no beginning or end marks are added (Hugging Face: add_special_tokens=False).
  virtual void encode(std::string_view text, std::vector<uint32_t>& ids) const = 0;

  /// encode() of a long text by up to `threads` threads, given to `sink` in order and in bounded pieces, so
  /// that the ids need never be in memory at once; the ids are those of encode().  `progress` hears the bytes
  /// done so far; both are called from the calling thread.  A tokenizer that cannot cut a text does it in one
  /// piece.
  using Sink = std::function<void(std::span<const uint32_t>)>;
  using Progress = std::function<void(uint64_t bytes_done)>;
  virtual void encode_parallel(std::string_view text, int threads, const Sink& sink,
                               const Progress& progress) const;

  /// The bytes of `ids`.  They need not be whole UTF-8 characters: see Utf8Stream.  Throws UserError for an
  /// id that is not in the vocabulary.
  virtual std::string decode(std::span<const uint32_t> ids) const = 0;

  /// Hash of everything that decides the ids; names cached token files.
  virtual std::string identity() const = 0;
};

/// `path` is a file for SentencePiece (.model) and Hugging Face (tokenizer.json), ignored for bytes.
/// Throws UserError naming the part of the file that is wrong or not supported, InfraError where the
/// SentencePiece library cannot be loaded.
std::unique_ptr<Tokenizer> open_tokenizer(Kind kind, const std::string& path);

}  // namespace trainctl::tokenizer
