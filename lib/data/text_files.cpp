#include "data/text_files.h"

#include "data/open_file.h"

namespace trainctl::data {

std::unique_ptr<tokenizer::Tokenizer> open_tokenizer(const spec::TokenizerSpec& spec) {
  switch (spec.kind) {
    case spec::TokenizerKind::kBytes:
      return tokenizer::open_tokenizer(tokenizer::Kind::kBytes, spec.path);
    case spec::TokenizerKind::kSentencepiece:
      return tokenizer::open_tokenizer(tokenizer::Kind::kSentencepiece, spec.path);
    case spec::TokenizerKind::kHuggingface:
      return tokenizer::open_tokenizer(tokenizer::Kind::kHuggingface, spec.path);
    default:
      throw UserError("`data.format: text` needs a tokenizer, but `tokenizer.kind` is none",
                      "set `tokenizer.kind: bytes`, or huggingface or sentencepiece with a `tokenizer.path`");
  }
}

std::optional<TokenStream> open_text(const spec::TokenizerSpec& spec, const std::vector<DataFile>& files,
                                     bool tokenize, std::vector<Diagnostic>& found) {
  TokenStream stream;
  if (spec.kind != spec::TokenizerKind::kBytes) {
    (void)tokenize;
    (void)open_tokenizer(spec);
    return std::nullopt;
  }
  for (const auto& file : files) {
    const auto mapped = open_mapped(file.path, found);
    if (mapped == nullptr || mapped->size() == 0) continue;
    stream.append(
        {.path = file.path, .owner = mapped, .data = mapped->data(), .width = 1, .count = mapped->size()});
  }
  if (stream.size() == 0) return std::nullopt;
  return stream;
}

}  // namespace trainctl::data
