#include "device/spec_peak.h"

#include <algorithm>
#include <iterator>

namespace trainctl::device {

namespace {

struct Sheet {
  std::string_view name;
  double half_tflops;   // BF16 and FP16
  double float_tflops;  // FP32; 0: not public, or the sheets disagree
};

// NVIDIA's product data sheets (half of what they print "with sparsity").  Whole names, because variants of
// one name differ: an H100 PCIe or NVL is not an H100 SXM, a laptop's RTX 4090 not a desktop's.
constexpr Sheet kSheets[] = {
    {"NVIDIA A100-SXM4-40GB", 312, 19.5},
    {"NVIDIA A100-SXM4-80GB", 312, 19.5},
    {"NVIDIA A100-PCIE-40GB", 312, 19.5},
    {"NVIDIA A100 80GB PCIe", 312, 19.5},
    {"NVIDIA H100 80GB HBM3", 989, 67},  // SXM
    {"NVIDIA H100 PCIe", 756, 51},
    {"NVIDIA H200", 989, 67},
    {"NVIDIA B200", 2250, 0},
    {"NVIDIA L40S", 362, 91.6},
    {"NVIDIA L4", 121, 30.3},
    {"NVIDIA GeForce RTX 4090", 165, 82.6},
};

}  // namespace

std::optional<double> spec_peak_tflops(std::string_view name, c10::ScalarType dtype) {
  const auto* const sheet =
      std::find_if(std::begin(kSheets), std::end(kSheets), [&](const Sheet& s) { return s.name == name; });
  if (sheet == std::end(kSheets)) return std::nullopt;
  double peak = 0;
  if (dtype == c10::kBFloat16 || dtype == c10::kHalf) peak = sheet->half_tflops;
  if (dtype == c10::kFloat) peak = sheet->float_tflops;
  return peak > 0 ? std::optional(peak) : std::nullopt;
}

}  // namespace trainctl::device
