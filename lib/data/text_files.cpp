#include "data/text_files.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

#include "data/open_file.h"
#include "data/source.h"
#include "data/tokenize.h"
#include "util/fd.h"
#include "util/user_cache.h"

namespace trainctl::data {

namespace {

namespace fs = std::filesystem;
using Mapped = std::vector<std::shared_ptr<const MappedFile>>;
constexpr uint64_t kInMemory = uint64_t{1}
                               << 20;  // bytes of text below which a file in the cache is not worth it

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

TokenStream as_bytes(const Mapped& files) {
  TokenStream stream;
  for (const auto& file : files) {
    stream.append(
        {.path = file->path(), .owner = file, .data = file->data(), .width = 1, .count = file->size()});
  }
  return stream;
}

TokenStream in_memory(const tokenizer::Tokenizer& tokenizer, const Mapped& files) {
  TokenStream stream;
  for (const auto& file : files) {
    const auto ids = std::make_shared<std::vector<uint32_t>>();
    tokenizer.encode(text_of(*file), *ids);
    const auto* const data = reinterpret_cast<const std::byte*>(ids->data());
    stream.append({.path = file->path(), .owner = ids, .data = data, .width = 4, .count = ids->size()});
  }
  return stream;
}

/// $XDG_CACHE_HOME/trainctl/tokens, or ~/.cache/trainctl/tokens; empty where neither is known.
fs::path cache_folder() {
  const fs::path folder = user_cache_folder();
  return folder.empty() ? folder : folder / "tokens";
}

/// Named by what decides the ids: the tokenizer, and the content of each file.
std::string cache_name(const tokenizer::Tokenizer& tokenizer, const Mapped& files, int width) {
  std::string key = tokenizer.identity();
  for (const auto& file : files) {
    const XXH128_hash_t hash = XXH3_128bits(file->data(), file->size());
    key += fmt::format(" {}:{:016x}{:016x}", file->size(), hash.high64, hash.low64);
  }
  const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
  return fmt::format("{:016x}{:016x}.u{}", hash.high64, hash.low64, width * 8);
}

/// The token file at `path`, made where it is not there; one process of several makes it, the others wait.
void make_cached(const tokenizer::Tokenizer& tokenizer, const Mapped& files, const fs::path& path) {
  if (fs::exists(path)) return;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  const Fd lock = lock_file(path.string() + ".lock");
  if (!lock) {
    throw InfraError(
        fmt::format("cannot write the token cache {}: {}", path.parent_path().string(), std::strerror(errno)),
        "set XDG_CACHE_HOME to a folder that can be written");
  }
  if (fs::exists(path)) return;
  std::vector<DataFile> list;
  for (const auto& file : files) list.push_back({file->path(), file->size()});
  tokenize_files(tokenizer, list, path.string(),
                 std::max(1, static_cast<int>(std::thread::hardware_concurrency())), {});
}

std::optional<TokenStream> encoded(const tokenizer::Tokenizer& tokenizer, const Mapped& files,
                                   std::vector<Diagnostic>& found) {
  uint64_t total = 0;
  for (const auto& file : files) total += file->size();
  const fs::path folder = cache_folder();
  if (total < kInMemory || folder.empty()) return in_memory(tokenizer, files);
  const int width = width_of(tokenizer.vocab_size());
  const fs::path path = folder / cache_name(tokenizer, files, width);
  make_cached(tokenizer, files, path);
  auto segment = open_raw({path.string(), fs::file_size(path)}, width, found);
  if (!segment) return std::nullopt;
  TokenStream stream;
  stream.append(std::move(*segment));
  return stream;
}

}  // namespace

std::unique_ptr<tokenizer::Tokenizer> open_tokenizer(const spec::TokenizerSpec& spec) {
  switch (spec.kind) {
    case spec::TokenizerKind::kBytes:
      return tokenizer::open_tokenizer(tokenizer::Kind::kBytes, spec.path);
    case spec::TokenizerKind::kSentencepiece:
      return tokenizer::open_tokenizer(tokenizer::Kind::kSentencepiece, spec.path);
    case spec::TokenizerKind::kHuggingface:
      return tokenizer::open_tokenizer(tokenizer::Kind::kHuggingface, spec.path);
    default:
      throw UserError(
          "`data.format: text` needs a tokenizer, but `tokenizer.kind` is none",
          "set `tokenizer.kind: bytes`, or hugging_face or sentencepiece with a `tokenizer.path`");
  }
}

std::optional<TokenStream> open_text(const spec::TokenizerSpec& spec, const std::vector<DataFile>& files,
                                     bool tokenize, std::vector<Diagnostic>& found) {
  Mapped mapped;
  for (const auto& file : files) {
    const auto text = open_mapped(file.path, found);
    if (text != nullptr && text->size() > 0) mapped.push_back(text);
  }
  try {
    const auto tokenizer = open_tokenizer(spec);
    const bool bytes = spec.kind == spec::TokenizerKind::kBytes;
    if (mapped.empty() || (!bytes && !tokenize)) return std::nullopt;
    return bytes ? as_bytes(mapped) : encoded(*tokenizer, mapped, found);
  } catch (const UserError& error) {
    found.insert(found.end(), error.diagnostics().begin(), error.diagnostics().end());
    return std::nullopt;
  }
}

}  // namespace trainctl::data
