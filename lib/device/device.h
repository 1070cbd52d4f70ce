// device.h: what the engine asks of a device, and the only place where it asks whether that is a CPU or CUDA.
// The CUDA half lives in libtrainctl_cuda.so (lib/cuda), loaded when a job runs on a GPU, so that a CPU
// worker never pays for libtorch_cuda.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

namespace trainctl::device {

class Backend {
 public:
  virtual ~Backend() = default;
  virtual at::Device device() const = 0;
  virtual std::string description() const = 0;               // "cpu: AMD EPYC, 2 threads"
  virtual void synchronize() = 0;                            // waits for all work of the device
  virtual std::optional<double> peak_memory_mb() const = 0;  // device memory; nullopt on CPUs
  virtual std::optional<double> spec_peak_tflops(at::ScalarType dtype) const = 0;  // data sheet, dense
  /// c10d's backend for this device (gloo, NCCL).  Collective.
  virtual c10::intrusive_ptr<c10d::Backend> make_process_group_backend(c10::intrusive_ptr<c10d::Store> store,
                                                                       int rank, int world_size,
                                                                       std::chrono::milliseconds timeout) = 0;
  virtual at::Tensor pin(const at::Tensor& host) = 0;  // page-locked copy on CUDA, the same tensor on CPUs
};

/// `kind` "cpu" or "cuda"; for "cuda" loads libtrainctl_cuda.so and picks device `local_rank`.
/// Throws InfraError where there is no such device, saying why.
std::unique_ptr<Backend> make_backend(const std::string& kind, int local_rank, int num_threads);

/// How many devices an NVIDIA driver answers for, 0 without a driver (asked without loading libtorch_cuda).
int num_cuda_devices();

}  // namespace trainctl::device

extern "C" {
/// The entry of libtrainctl_cuda.so.  Returns a Backend* (ownership passes), or throws InfraError.
typedef void* (*TrainctlCudaBackend)(int local_rank);
}
