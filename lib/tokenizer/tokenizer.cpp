#include "tokenizer/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "tokenizer/huggingface.h"
#include "tokenizer/sentencepiece.h"
#include "util/diagnostic.h"

namespace trainctl::tokenizer {

namespace {

/// A byte is its own id.
class Bytes : public Tokenizer {
 public:
  int64_t vocab_size() const override { return 256; }

  void encode(std::string_view text, std::vector<uint32_t>& ids) const override {
    ids.reserve(ids.size() + text.size());
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  }

  void encode_parallel(std::string_view text, int /*threads*/, const Sink& sink,
                       const Progress& progress) const override {
    constexpr size_t kBlock = size_t{1} << 20;
    std::vector<uint32_t> ids;
    for (size_t begin = 0; begin < text.size(); begin += kBlock) {
      ids.clear();
      encode(text.substr(begin, kBlock), ids);
      sink(ids);
      if (progress) progress(std::min(begin + kBlock, text.size()));
    }
  }

  std::string decode(std::span<const uint32_t> ids) const override {
    std::string text;
    text.reserve(ids.size());
    for (const uint32_t id : ids) {
      if (id > 255)
        throw UserError(fmt::format("token {} is no byte: ids of the bytes tokenizer end at 255", id), "");
      text.push_back(static_cast<char>(id));
    }
    return text;
  }

  std::string identity() const override { return "bytes"; }
};

}  // namespace

void Tokenizer::encode_parallel(std::string_view text, int /*threads*/, const Sink& sink,
                                const Progress& progress) const {
  std::vector<uint32_t> ids;
  encode(text, ids);
  sink(ids);
  if (progress) progress(text.size());
}

std::unique_ptr<Tokenizer> open_tokenizer(Kind kind, const std::string& path) {
  if (kind == Kind::kBytes) return std::make_unique<Bytes>();
  return kind == Kind::kHuggingface ? open_huggingface(path) : open_sentencepiece(path);
}

}  // namespace trainctl::tokenizer
