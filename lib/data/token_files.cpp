// token_files.cpp: readers of files that hold token ids.
#include <fmt/format.h>

#include <cstring>
#include <filesystem>

#include "data/open_file.h"
#include "data/source.h"

namespace trainctl::data {

namespace {

constexpr uint32_t kLlmcMagic16 = 20240520, kLlmcVersion16 = 1;
constexpr uint32_t kLlmcMagic32 = 20240801, kLlmcVersion32 = 7;
constexpr uint64_t kLlmcHeader = 256 * sizeof(int32_t);

bool is_llmc(const MappedFile& file) {
  if (file.size() < kLlmcHeader) return false;
  const auto magic = load_le<uint32_t>(file, 0);
  const auto version = load_le<uint32_t>(file, 4);
  return (magic == kLlmcMagic16 && version == kLlmcVersion16) ||
         (magic == kLlmcMagic32 && version == kLlmcVersion32);
}

/// "; the last whole token is number 7, bytes 14 to 15"
std::string last_token(uint64_t count, uint64_t offset, uint64_t width) {
  if (count == 0) return "; it holds no whole token";
  const uint64_t begin = offset + (count - 1) * width;
  return fmt::format("; the last whole token is number {}, bytes {} to {}", count - 1, begin,
                     begin + width - 1);
}

TokenSegment segment(std::shared_ptr<const MappedFile> file, int width, uint64_t count, uint64_t offset) {
  return {.path = file->path(),
          .owner = file,
          .data = file->data() + offset,
          .width = width,
          .count = count,
          .offset_bytes = offset};
}

/// The header of a Megatron index, after checks of everything that can be checked without reading all of it.
struct MegatronIndex {
  std::shared_ptr<const MappedFile> file;
  int width = 0;
  uint64_t sequences = 0;
  uint64_t sizes_at = 0, pointers_at = 0;  // byte offsets: int32 tokens, int64 byte offsets of every sequence
  uint64_t bin_bytes = 0;                  // what the .bin must hold
};

std::optional<MegatronIndex> open_index(const std::string& bin_path, std::vector<Diagnostic>& found) {
  const std::string path = std::filesystem::path(bin_path).replace_extension(".idx").string();
  MegatronIndex index{.file = open_mapped(path, found)};
  if (index.file == nullptr) return std::nullopt;
  const auto fail = [&](std::string what) {
    found.push_back({.at = {.file = path},
                     .what = std::move(what),
                     .help = "write the pair again with Megatron's preprocess_data.py"});
    return std::nullopt;
  };
  constexpr uint64_t kHeader = 34;
  if (index.file->size() < kHeader)
    return fail(fmt::format("is {} bytes, shorter than a Megatron index's header of {}", index.file->size(),
                            kHeader));
  if (std::memcmp(index.file->data(), "MMIDIDX\0\0", 9) != 0)
    return fail("is no Megatron index: it does not start with MMIDIDX");
  if (const auto version = load_le<uint64_t>(*index.file, 9); version != 1) {
    return fail(fmt::format("is a Megatron index of version {}; only version 1 is known", version));
  }
  constexpr int kWidths[] = {0, 1, 0, 0, 4,
                             8, 0, 0, 2};  // by dtype code: uint8 1, int32 4, int64 5, uint16 8
  const auto code = load_le<uint8_t>(*index.file, 17);
  index.width = code < std::size(kWidths) ? kWidths[code] : 0;
  if (index.width == 0) {
    return fail(
        fmt::format("has dtype code {}; tokens are uint8 (1), int32 (4), int64 (5) or uint16 (8)", code));
  }
  index.sequences = load_le<uint64_t>(*index.file, 18);
  const auto documents = load_le<uint64_t>(*index.file, 26);
  index.sizes_at = kHeader;
  const uint64_t rest = index.file->size() - kHeader;
  // divisions first: counts come from the file and may be anything
  if (index.sequences > rest / 12 || documents > (rest - index.sequences * 12) / 8) {
    return fail(
        fmt::format("is {} bytes, too short for the {} sequences and {} document borders in its header",
                    index.file->size(), index.sequences, documents));
  }
  index.pointers_at = kHeader + index.sequences * 4;
  if (index.sequences > 0) {
    const auto size = load_le<int32_t>(*index.file, index.sizes_at + (index.sequences - 1) * 4);
    const auto pointer = load_le<int64_t>(*index.file, index.pointers_at + (index.sequences - 1) * 8);
    if (size < 0 || pointer < 0) return fail("has a negative size or offset for its last sequence");
    index.bin_bytes =
        static_cast<uint64_t>(pointer) + static_cast<uint64_t>(size) * static_cast<uint64_t>(index.width);
  }
  return index;
}

}  // namespace

std::optional<TokenSegment> open_raw(const DataFile& file, int width, std::vector<Diagnostic>& found) {
  const auto mapped = open_mapped(file.path, found);
  if (mapped == nullptr) return std::nullopt;
  const auto w = static_cast<uint64_t>(width);
  const uint64_t count = mapped->size() / w;
  if (is_llmc(*mapped)) {
    found.push_back({.at = {.file = file.path},
                     .what = "starts with llm.c's header, which raw tokens do not have",
                     .help = "set `data.format: llmc`"});
    return std::nullopt;
  }
  if (mapped->size() % w != 0) {
    found.push_back(
        {.at = {.file = file.path},
         .what = fmt::format("is {} bytes, not a multiple of the {} bytes of a token (expected {} or {}){}",
                             mapped->size(), w, count * w, (count + 1) * w, last_token(count, 0, w)),
         .help = "the file was cut short, or `data.format` is not what it holds"});
    return std::nullopt;
  }
  return segment(mapped, width, count, 0);
}

std::optional<TokenSegment> open_llmc(const DataFile& file, std::vector<Diagnostic>& found) {
  const auto mapped = open_mapped(file.path, found);
  if (mapped == nullptr) return std::nullopt;
  if (!is_llmc(*mapped)) {
    found.push_back(
        {.at = {.file = file.path},
         .what = fmt::format("has no header of llm.c ({} bytes; magic {} version {}, or {} version {})",
                             kLlmcHeader, kLlmcMagic16, kLlmcVersion16, kLlmcMagic32, kLlmcVersion32),
         .help = "raw token files are `data.format: tokens_u16` or `tokens_u32`"});
    return std::nullopt;
  }
  const uint64_t width = load_le<uint32_t>(*mapped, 0) == kLlmcMagic16 ? 2 : 4;
  const auto count = static_cast<uint64_t>(load_le<uint32_t>(*mapped, 8));
  const uint64_t expected = kLlmcHeader + count * width;
  if (mapped->size() != expected) {
    const uint64_t whole = std::min(count, (mapped->size() - kLlmcHeader) / width);
    found.push_back(
        {.at = {.file = file.path},
         .what = fmt::format("is {} bytes, but its header says {} tokens of {} bytes: expected {} bytes{}",
                             mapped->size(), count, width, expected, last_token(whole, kLlmcHeader, width)),
         .help = "copy or write the file again"});
    return std::nullopt;
  }
  return segment(mapped, static_cast<int>(width), count, kLlmcHeader);
}

std::optional<TokenSegment> open_megatron(const DataFile& bin, std::vector<Diagnostic>& found) {
  const auto index = open_index(bin.path, found);
  const auto mapped = open_mapped(bin.path, found);
  if (!index || mapped == nullptr) return std::nullopt;
  const auto width = static_cast<uint64_t>(index->width);
  if (mapped->size() != index->bin_bytes) {
    const uint64_t whole = std::min(index->bin_bytes, mapped->size()) / width;
    found.push_back(
        {.at = {.file = bin.path},
         .what = fmt::format(
             "is {} bytes, but its index says {} sequences of {}-byte tokens: expected {} bytes{}",
             mapped->size(), index->sequences, width, index->bin_bytes, last_token(whole, 0, width)),
         .help = "copy both files of the pair again"});
    return std::nullopt;
  }
  return segment(mapped, index->width, mapped->size() / width, 0);
}

void check_megatron_index(const std::string& bin_path, std::vector<Diagnostic>& found) {
  const auto index = open_index(bin_path, found);
  if (!index) return;
  uint64_t expected = 0;
  for (uint64_t i = 0; i < index->sequences; ++i) {
    const auto size = load_le<int32_t>(*index->file, index->sizes_at + i * 4);
    const auto pointer = load_le<int64_t>(*index->file, index->pointers_at + i * 8);
    if (size < 0 || static_cast<uint64_t>(pointer) != expected) {
      found.push_back({.at = {.file = index->file->path()},
                       .what = fmt::format("sequence {} has {} tokens at byte {}, expected at byte {}", i,
                                           size, pointer, expected),
                       .help = "write the pair again with Megatron's preprocess_data.py"});
      return;
    }
    expected += static_cast<uint64_t>(size) * static_cast<uint64_t>(index->width);
  }
}

}  // namespace trainctl::data
