// dtype.h: the element types of a safetensors file, by their names in its header.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainctl::storage {

enum class Dtype {
  kBool,
  kU8,
  kI8,
  kF8E5M2,
  kF8E4M3,
  kU16,
  kI16,
  kF16,
  kBF16,
  kU32,
  kI32,
  kF32,
  kU64,
  kI64,
  kF64
};

/// Bytes of one element.
int64_t size_of(Dtype dtype);
/// "F32", "BF16", ...
std::string_view name_of(Dtype dtype);
std::optional<Dtype> find_dtype(std::string_view name);
/// Every name, for messages: "BOOL, U8, ...".
std::string dtype_names();

}  // namespace trainctl::storage
