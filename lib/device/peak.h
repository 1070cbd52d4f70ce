// peak.h: the matmul peak of this machine, measured: what MFU is compared with where no data sheet tells.
#pragma once

#include <c10/core/ScalarType.h>

#include "device/device.h"

namespace trainctl::device {

/// TFLOP/s of the best of several square matmuls of `dtype` with `num_threads` intra-op threads, each size
/// warm. Measures once (some 0.2 s), then answers from peak_cache.h, keyed by the device's description,
/// dtype, threads and LibTorch's version.  Of several processes that ask at the same time one measures and
/// the others wait, so that they do not slow each other; where the cache cannot be written that does not hold
/// (a warning says so), so let rank 0 alone ask, before the group joins.
double matmul_peak_tflops(Backend& backend, at::ScalarType dtype, int num_threads);

/// The same measurement, without the cache.
double measure_matmul_tflops(Backend& backend, at::ScalarType dtype);

}  // namespace trainctl::device
