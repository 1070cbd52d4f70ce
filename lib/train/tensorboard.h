// tensorboard.h: scalars as a TensorBoard event file: TFRecord frames (length, masked CRC-32C, bytes, masked
// CRC-32C; little-endian) that hold protobuf `Event` messages, both written by hand.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainctl::train {

using Scalar = std::pair<std::string_view, double>;  // tag, value

class EventWriter {
 public:
  /// Creates `dir`/events.out.tfevents.<seconds>.<host>.  Throws InfraError.
  explicit EventWriter(const std::filesystem::path& dir);
  /// Buffered until flush().  wall_time_s: seconds since 1970.
  void write(int64_t step, double wall_time_s, const std::vector<Scalar>& scalars);
  void flush();  // throws InfraError

 private:
  void write_record(const std::string& event);

  std::filesystem::path path_;
  std::ofstream file_;
};

/// CRC-32C (Castagnoli), as in RFC 3720; "123456789" gives 0xe3069283.
uint32_t crc32c(std::string_view bytes);

}  // namespace trainctl::train
