// open_file.h: small helpers of the readers.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "data/mapped_file.h"
#include "util/diagnostic.h"

namespace trainctl::data {

/// The mapped file; null, with the reason in `found`, where it cannot be read.
std::shared_ptr<const MappedFile> open_mapped(const std::string& path, std::vector<Diagnostic>& found);

/// The little-endian value at byte `offset`; the caller has checked the size.
template <class T>
T load_le(const MappedFile& file, uint64_t offset) {
  T value;
  std::memcpy(&value, file.data() + offset, sizeof(T));
  return value;
}

inline uint32_t load_be32(const MappedFile& file, uint64_t offset) {
  return __builtin_bswap32(load_le<uint32_t>(file, offset));
}

}  // namespace trainctl::data
