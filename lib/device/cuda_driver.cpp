#include "device/cuda_driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

namespace trainctl::device {

namespace {

std::string visible_devices_hint() {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible == nullptr ? "" : fmt::format(" (CUDA_VISIBLE_DEVICES is `{}`)", visible);
}

}  // namespace

CudaDriver ask_cuda_driver() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);  // never closed: LibTorch uses it too
  if (driver == nullptr) return {0, fmt::format("no NVIDIA driver on this machine ({})", dlerror())};
  // From cuda.h, whose results are ints and 0 means success.
  using Init = int (*)(unsigned);
  using Count = int (*)(int*);
  const auto init = reinterpret_cast<Init>(dlsym(driver, "cuInit"));
  const auto count = reinterpret_cast<Count>(dlsym(driver, "cuDeviceGetCount"));
  if (init == nullptr || count == nullptr) return {0, "libcuda.so.1 lacks cuInit or cuDeviceGetCount"};
  if (const int error = init(0); error != 0) {
    const char* const meaning = error == 100   ? ": no device"
                                : error == 803 ? ": driver and library differ"
                                               : "";
    return {0, fmt::format("the NVIDIA driver does not start (cuInit gave {}{}){}", error, meaning,
                           visible_devices_hint())};
  }
  int devices = 0;
  if (const int error = count(&devices); error != 0) {
    return {0, fmt::format("the NVIDIA driver cannot count its devices (error {})", error)};
  }
  if (devices == 0) return {0, "the NVIDIA driver has no device" + visible_devices_hint()};
  return {devices, ""};
}

}  // namespace trainctl::device
