// stored_dtype.h: safetensors' element types and ATen's.
#pragma once

#include <c10/core/ScalarType.h>

#include <optional>

#include "storage/dtype.h"

namespace trainctl::model {

/// nullopt: ATen has no such type, or nobody stores weights in it.
inline std::optional<c10::ScalarType> scalar_type(storage::Dtype dtype) {
  switch (dtype) {
    case storage::Dtype::kF64:
      return c10::kDouble;
    case storage::Dtype::kF32:
      return c10::kFloat;
    case storage::Dtype::kF16:
      return c10::kHalf;
    case storage::Dtype::kBF16:
      return c10::kBFloat16;
    case storage::Dtype::kI64:
      return c10::kLong;
    case storage::Dtype::kI32:
      return c10::kInt;
    default:
      return std::nullopt;
  }
}

inline std::optional<storage::Dtype> stored_dtype(c10::ScalarType type) {
  for (const auto dtype : {storage::Dtype::kF64, storage::Dtype::kF32, storage::Dtype::kF16,
                           storage::Dtype::kBF16, storage::Dtype::kI64, storage::Dtype::kI32})
    if (scalar_type(dtype) == type) return dtype;
  return std::nullopt;
}

}  // namespace trainctl::model
