// The header of a safetensors file.  Everything in it is hostile until it is checked.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "storage/safetensors.h"
#include "util/diagnostic.h"

namespace trainctl::storage {
namespace {

using Json = nlohmann::json;

static_assert(std::endian::native == std::endian::little,
              "safetensors data is little-endian and mapped as it is");
constexpr size_t kLengthBytes = 8;
constexpr uint64_t kMaxHeader = 100'000'000;  // the reference implementation's limit
constexpr int kMaxDepth = 3;                  // {name: {data_offsets: [..]}}

[[noreturn]] void refuse(const std::string& file, const std::string& what) {
  throw UserError(Diagnostic{.at = {.file = file},
                             .what = what,
                             .help = "the file is damaged or not safetensors; fetch or export it again"});
}

/// The text of the header, from behind the length.
std::string_view header_text(std::span<const std::byte> content, const std::string& file) {
  if (content.size() < kLengthBytes)
    refuse(file, fmt::format("a file of {} bytes is too short to be safetensors (8 bytes of header length)",
                             content.size()));
  uint64_t length = 0;
  std::memcpy(&length, content.data(), kLengthBytes);
  if (length > kMaxHeader)
    refuse(file, fmt::format("byte 0: a header of {} bytes; at most {} are allowed", length, kMaxHeader));
  if (length > content.size() - kLengthBytes)
    refuse(file, fmt::format("byte 0: a header of {} bytes in a file of {}", length, content.size()));
  return {reinterpret_cast<const char*>(content.data()) + kLengthBytes, static_cast<size_t>(length)};
}

/// JSON without surprises: refuses depth beyond the format's and a key that stands twice in one object (the
/// parser would keep the last), both before they can cost memory.
Json parse_json(std::string_view text, const std::string& file) {
  std::vector<std::set<std::string>> keys;
  const auto check = [&](int depth, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start) {
      if (depth >= kMaxDepth) refuse(file, fmt::format("the header is nested more than {} deep", kMaxDepth));
      keys.emplace_back();
    } else if (event == Json::parse_event_t::object_end || event == Json::parse_event_t::array_end) {
      keys.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const std::string key = value.get<std::string>();
      if (!keys.back().insert(key).second) refuse(file, fmt::format("`{}` stands twice in the header", key));
    }
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const Json::parse_error& e) {
    refuse(file, fmt::format("byte {}: the header is not JSON in UTF-8",
                             kLengthBytes + (e.byte == 0 ? 0 : e.byte - 1)));
  }
}

uint64_t whole_number(const Json& value, const std::string& file, const std::string& what) {
  if (!value.is_number_unsigned()) refuse(file, fmt::format("{} is not a whole number", what));
  return value.get<uint64_t>();
}

struct Entry {
  TensorInfo info;
  uint64_t begin = 0, end = 0;
};

/// Bytes of dtype times shape, or nullopt where it passes 2^63.
std::optional<uint64_t> checked_size(Dtype dtype, const std::vector<int64_t>& shape) {
  uint64_t size = static_cast<uint64_t>(size_of(dtype));
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  for (const int64_t n : shape)
    if (__builtin_mul_overflow(size, static_cast<uint64_t>(n), &size) || size > INT64_MAX)
      return std::nullopt;
  return size;
}

Entry read_entry(const std::string& name, const Json& value, uint64_t data_size, const std::string& file) {
  const std::string who = fmt::format("tensor `{}`", name);
  if (!value.is_object()) refuse(file, who + " is not an object");
  for (const auto& [key, _] : value.items())
    if (key != "dtype" && key != "shape" && key != "data_offsets")
      refuse(file, fmt::format("{}: unknown key `{}`", who, key));
  for (const char* key : {"dtype", "shape", "data_offsets"})
    if (!value.contains(key)) refuse(file, fmt::format("{} has no `{}`", who, key));
  const Json &dtype = value["dtype"], &shape = value["shape"], &offsets = value["data_offsets"];
  if (!dtype.is_string()) refuse(file, who + ": `dtype` is not a string");
  const std::optional<Dtype> known = find_dtype(dtype.get<std::string>());
  if (!known)
    refuse(file,
           fmt::format("{}: dtype `{}` is not one of {}", who, dtype.get<std::string>(), dtype_names()));
  if (!shape.is_array()) refuse(file, who + ": `shape` is not a list");
  if (!offsets.is_array() || offsets.size() != 2) refuse(file, who + ": `data_offsets` is not a list of two");

  Entry entry{.info = {.name = name, .dtype = *known, .shape = {}}};
  for (const Json& n : shape) {
    const uint64_t extent = whole_number(n, file, who + ": a number of `shape`");
    if (extent > INT64_MAX) refuse(file, fmt::format("{}: an extent of {}", who, extent));
    entry.info.shape.push_back(static_cast<int64_t>(extent));
  }
  entry.begin = whole_number(offsets[0], file, who + ": a number of `data_offsets`");
  entry.end = whole_number(offsets[1], file, who + ": a number of `data_offsets`");
  if (entry.begin > entry.end || entry.end > data_size)
    refuse(file,
           fmt::format("{}: bytes {} to {} of {} bytes of data", who, entry.begin, entry.end, data_size));
  const std::optional<uint64_t> needed = checked_size(*known, entry.info.shape);
  if (!needed || *needed != entry.end - entry.begin)
    refuse(file, fmt::format("{}: {} of shape [{}] takes {} bytes, its offsets hold {}", who, name_of(*known),
                             fmt::join(entry.info.shape, ", "),
                             needed ? std::to_string(*needed) : "more than 2^63", entry.end - entry.begin));
  return entry;
}

Metadata read_metadata(const Json& value, const std::string& file) {
  if (!value.is_object()) refuse(file, "`__metadata__` is not an object");
  Metadata metadata;
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) refuse(file, fmt::format("`__metadata__.{}` is not a string", key));
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

}  // namespace

int64_t TensorInfo::size_bytes() const {
  return std::accumulate(shape.begin(), shape.end(), size_of(dtype), std::multiplies<>());
}

SafetensorsHeader parse_safetensors(std::span<const std::byte> content, const std::string& file) {
  const std::string_view text = header_text(content, file);
  const Json json = parse_json(text, file);
  if (!json.is_object()) refuse(file, "byte 8: the header is not a JSON object");

  SafetensorsHeader header{.data_begin = kLengthBytes + text.size()};
  const uint64_t data_size = content.size() - header.data_begin;
  std::vector<Entry> entries;
  for (const auto& [name, value] : json.items()) {
    if (name == "__metadata__")
      header.metadata = read_metadata(value, file);
    else
      entries.push_back(read_entry(name, value, data_size, file));
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  uint64_t end = 0;
  for (Entry& entry : entries) {
    if (entry.begin != end)
      refuse(file, fmt::format("tensor `{}` begins at byte {} of the data, the one before it ends at {}",
                               entry.info.name, entry.begin, end));
    end = entry.end;
    header.begin.push_back(entry.begin);
    header.tensors.push_back(std::move(entry.info));
  }
  if (end != data_size)
    refuse(file,
           fmt::format("byte {}: {} bytes after the last tensor", header.data_begin + end, data_size - end));
  return header;
}

}  // namespace trainctl::storage
