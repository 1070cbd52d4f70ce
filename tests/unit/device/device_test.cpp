#include "device/device.h"

#include <ATen/Parallel.h>

#include <catch2/catch.hpp>

#include "device/cuda_driver.h"
#include "device/spec_peak.h"
#include "util/diagnostic.h"

using namespace trainctl;

TEST_CASE("the cpu backend says which processor and how many threads", "[device]") {
  const int before = at::get_num_threads();
  const auto one = device::make_backend("cpu", 0, 1);
  CHECK_THAT(one->description(), Catch::StartsWith("cpu: ") && Catch::EndsWith(", 1 thread"));
  CHECK(at::get_num_threads() == 1);
  const auto two = device::make_backend("cpu", 0, 2);
  CHECK_THAT(two->description(), Catch::EndsWith(", 2 threads"));
  CHECK(at::get_num_threads() == 2);
  at::set_num_threads(before);
  CHECK(one->description().size() > std::string("cpu: , 1 thread").size());
}

TEST_CASE("a cpu has no device memory and no data sheet peak", "[device]") {
  const auto cpu = device::make_backend("cpu", 0, 1);
  CHECK(cpu->device() == at::kCPU);
  CHECK_FALSE(cpu->peak_memory_mb().has_value());
  CHECK_FALSE(cpu->spec_peak_tflops(at::kFloat).has_value());
  const at::Tensor x = at::ones({3});
  CHECK(cpu->pin(x).is_same(x));
}

TEST_CASE("data sheet peaks are by whole name and never guessed", "[device]") {
  CHECK(device::spec_peak_tflops("NVIDIA H100 80GB HBM3", at::kBFloat16) == 989.0);
  CHECK(device::spec_peak_tflops("NVIDIA H100 PCIe", at::kBFloat16) == 756.0);
  CHECK(device::spec_peak_tflops("NVIDIA H200", at::kFloat) == 67.0);
  CHECK_FALSE(device::spec_peak_tflops("NVIDIA GeForce RTX 4090 Laptop GPU", at::kBFloat16).has_value());
  CHECK_FALSE(device::spec_peak_tflops("NVIDIA H100", at::kBFloat16).has_value());
  CHECK_FALSE(device::spec_peak_tflops("NVIDIA B200", at::kFloat).has_value());
  CHECK_FALSE(device::spec_peak_tflops("NVIDIA H200", at::kDouble).has_value());
}

TEST_CASE("without a driver or device cuda is refused with the reason and a way out", "[device]") {
  const device::CudaDriver driver = device::ask_cuda_driver();
  CHECK(driver.problem.empty() == (driver.num_devices > 0));
  CHECK(device::num_cuda_devices() == driver.num_devices);
  // One rank more than there are devices fails on every machine.
  try {
    device::make_backend("cuda", driver.num_devices, 1);
    FAIL("no error");
  } catch (const InfraError& error) {
    if (driver.num_devices == 0) {
      CHECK(error.what() == "cannot run on CUDA: " + driver.problem);
      CHECK_THAT(error.help(), Catch::Contains("launch.device: cpu"));
    } else {
      CHECK_THAT(error.what(), Catch::Contains("needs a CUDA device of its own"));
      CHECK_THAT(error.help(), Catch::Contains("launch.nproc_per_node"));
    }
  }
}

TEST_CASE("an unknown kind of device is a bug of the caller", "[device]") {
  CHECK_THROWS_AS(device::make_backend("tpu", 0, 1), std::logic_error);
}
