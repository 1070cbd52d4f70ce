// cuda_driver.h: asks NVIDIA's driver what devices there are, without LibTorch.
#pragma once

#include <string>

namespace trainctl::device {

/// What the driver said.  `num_devices` counts those that CUDA_VISIBLE_DEVICES lets through.
struct CudaDriver {
  int num_devices = 0;
  std::string problem;  // why there is none to use: "no NVIDIA driver (...)"; empty where there is one
};

/// Loads libcuda.so.1 and asks it.  The first call initialises the driver (some 0.1 s where there is a GPU,
/// nothing where there is no driver).
CudaDriver ask_cuda_driver();

}  // namespace trainctl::device
