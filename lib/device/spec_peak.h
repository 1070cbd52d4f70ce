// spec_peak.h: matmul peaks from vendors' data sheets.
#pragma once

#include <c10/core/ScalarType.h>

#include <optional>
#include <string_view>

namespace trainctl::device {

/// Dense (no sparsity) peak of one device in TFLOP/s: BF16 and FP16 with FP32 accumulation on tensor cores,
/// FP32 on the ordinary cores (TF32 off).  `name` as cudaGetDeviceProperties gives it.  nullopt: not known,
/// never guessed.
std::optional<double> spec_peak_tflops(std::string_view name, c10::ScalarType dtype);

}  // namespace trainctl::device
