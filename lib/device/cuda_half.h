// cuda_half.h: finds and loads libtrainctl_cuda.so.
#pragma once

#include <memory>

#include "device/device.h"

namespace trainctl::device {

/// The CUDA device `local_rank`.  Throws InfraError: no driver, too few devices, library not built or not
/// there.
std::unique_ptr<Backend> load_cuda_backend(int local_rank);

}  // namespace trainctl::device
