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
    std::printf("SKIPPED: %s\n", error.what());
    std::fflush(stdout);
    std::_Exit(77);
  }
}

// Runs before Catch2's main.
inline const std::unique_ptr<device::Backend> cuda = cuda_or_skip();

}  // namespace trainctl::test
