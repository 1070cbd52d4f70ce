// backend.cpp: one CUDA device and NCCL as a device::Backend; all of libtrainctl_cuda.so.
#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "device/device.h"
#include "device/spec_peak.h"
#include "util/diagnostic.h"

namespace trainctl::cuda {

namespace {

class CudaBackend : public device::Backend {
 public:
  explicit CudaBackend(int local_rank) : device_(at::kCUDA, static_cast<c10::DeviceIndex>(local_rank)) {
    at::globalContext().lazyInitDevice(at::kCUDA);
    c10::cuda::set_device(device_.index());
    // fp32 means fp32: PyTorch leaves TF32 on for convolutions.
    at::globalContext().setAllowTF32CuBLAS(false);
    at::globalContext().setAllowTF32CuDNN(false);
    name_ = at::cuda::getDeviceProperties(device_.index())->name;
  }
  at::Device device() const override { return device_; }
  std::string description() const override { return "cuda: " + name_; }
  void synchronize() override { c10::cuda::device_synchronize(); }

  // The most that tensors held at one time, as torch.cuda.max_memory_allocated counts it.
  std::optional<double> peak_memory_mb() const override {
    using c10::CachingAllocator::StatType;
    const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device_.index());
    return static_cast<double>(stats.allocated_bytes[static_cast<size_t>(StatType::AGGREGATE)].peak) /
           (1024.0 * 1024.0);
  }
  std::optional<double> spec_peak_tflops(at::ScalarType dtype) const override {
    return device::spec_peak_tflops(name_, dtype);
  }

  // Connects at once, so that a rank without a working device fails here and not in its first collective.
  c10::intrusive_ptr<c10d::Backend> make_process_group_backend(c10::intrusive_ptr<c10d::Store> store,
                                                               int rank, int world_size,
                                                               std::chrono::milliseconds timeout) override {
    auto options = c10d::ProcessGroupNCCL::Options::create();
    options->timeout = timeout;
    auto nccl = c10::make_intrusive<c10d::ProcessGroupNCCL>(std::move(store), rank, world_size, options);
    nccl->eagerConnectSingleDevice(device_);
    return nccl;
  }
  at::Tensor pin(const at::Tensor& host) override { return host.pin_memory(); }

 private:
  at::Device device_;
  std::string name_;
};

}  // namespace

}  // namespace trainctl::cuda

extern "C" void* trainctl_cuda_backend(int local_rank) {
  using trainctl::InfraError;
  try {
    return static_cast<trainctl::device::Backend*>(new trainctl::cuda::CudaBackend(local_rank));
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    throw InfraError(
        "CUDA device " + std::to_string(local_rank) + " does not start: " + text.substr(0, text.find('\n')),
        "nvidia-smi shows whether the device is free and healthy");
  }
}
