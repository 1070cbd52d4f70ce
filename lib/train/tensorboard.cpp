#include "train/tensorboard.h"

#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstring>

#include "util/diagnostic.h"

namespace trainctl::train {
namespace {

static_assert(std::endian::native == std::endian::little, "event files are little-endian");

template <class Value>
std::string bytes_of(Value value) {
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

// Protobuf: a field is a varint of (number << 3 | wire type), then its value.
enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes.push_back(static_cast<char>(value | 128));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

std::string key(uint32_t number, WireType type) { return varint(number << 3 | type); }
std::string bytes_field(uint32_t number, std::string_view value) {
  return key(number, kBytes) + varint(value.size()) + std::string(value);
}

// Event: wall_time = 1, step = 2, file_version = 3, summary = 5.
std::string event(double wall_time_s, int64_t step, const std::string& content) {
  return key(1, kFixed64) + bytes_of(wall_time_s) + key(2, kVarint) + varint(static_cast<uint64_t>(step)) +
         content;
}

// Summary: repeated value = 1; Summary.Value: tag = 1, simple_value = 2.
std::string summary(const std::vector<Scalar>& scalars) {
  std::string values;
  for (const auto& [tag, value] : scalars) {
    values += bytes_field(1, bytes_field(1, tag) + key(2, kFixed32) + bytes_of(static_cast<float>(value)));
  }
  return bytes_field(5, values);
}

constexpr std::array<uint32_t, 256> make_crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0u);
    table[i] = crc;
  }
  return table;
}

/// TFRecord stores a CRC rotated and shifted, so that the CRC of a text that holds its own CRC is not
/// trivial.
uint32_t masked(uint32_t crc) { return std::rotr(crc, 15) + 0xa282ead8u; }

double wall_time_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static constexpr auto kTable = make_crc_table();
  uint32_t crc = ~0u;
  for (const char c : bytes) crc = crc >> 8 ^ kTable[(crc ^ static_cast<uint8_t>(c)) & 255];
  return ~crc;
}

EventWriter::EventWriter(const std::filesystem::path& dir) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  const double now = wall_time_s();
  path_ = dir / ("events.out.tfevents." + std::to_string(static_cast<int64_t>(now)) + "." + host_name());
  file_.open(path_, std::ios::binary);
  write_record(event(now, 0, bytes_field(3, "brain.Event:2")));
  flush();
}

void EventWriter::write(int64_t step, double wall_time_s, const std::vector<Scalar>& scalars) {
  write_record(event(wall_time_s, step, summary(scalars)));
}

void EventWriter::flush() {
  if (!file_.flush())
    throw InfraError("cannot write " + path_.string(), "is the disk full, or the folder read-only?");
}

void EventWriter::write_record(const std::string& event) {
  const std::string length = bytes_of<uint64_t>(event.size());
  file_ << length << bytes_of(masked(crc32c(length))) << event << bytes_of(masked(crc32c(event)));
}

}  // namespace trainctl::train
