// gpu.h: for tests labelled gpu.  Including it makes the test binary say why and end with 77, CTest's
// "skipped", where there is no GPU or this build has no CUDA half.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "device/device.h"
#include "util/diagnostic.h"

namespace trainctl::test {

inline std::unique_ptr<device::Backend> cuda_or_skip() {
  try {
    return device::make_backend("cuda", /*local_rank=*/0, /*num_threads=*/1);
  } catch (const InfraError& error) {
    const bool no_gpu = device::num_cuda_devices() == 0;  // a GPU that cannot be used is a failure
    std::printf("%s: %s\n", no_gpu ? "SKIPPED" : "FAILED", error.what());
    std::fflush(stdout);
    std::_Exit(no_gpu ? 77 : 1);
  }
}

// Runs before Catch2's main.
inline const std::unique_ptr<device::Backend> cuda = cuda_or_skip();

}  // namespace trainctl::test
