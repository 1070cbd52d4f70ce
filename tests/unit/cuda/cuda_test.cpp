// What only a GPU can show.  Skipped elsewhere (support/gpu.h).
#include <torch/types.h>

#include <catch2/catch.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "device/peak.h"
#include "dist/group.h"
#include "optim/optimizer.h"
#include "support/gpu.h"

using namespace trainctl;
using test::cuda;

TEST_CASE("the device is a CUDA device with a name and counts its memory", "[cuda]") {
  CHECK(cuda->device().is_cuda());
  CHECK_THAT(cuda->description(), Catch::StartsWith("cuda: ") && !Catch::Equals("cuda: "));
  const at::Tensor x = at::empty({64, 1024, 1024}, cuda->device());  // 256 MB
  REQUIRE(cuda->peak_memory_mb().has_value());
  CHECK(*cuda->peak_memory_mb() >= 256);
}

TEST_CASE("a matmul on the device agrees with the processor in full fp32", "[cuda]") {
  const at::Tensor a = at::randn({300, 1024});
  const at::Tensor b = at::randn({1024, 200});
  const at::Tensor exact = a.to(at::kDouble).matmul(b.to(at::kDouble));
  const at::Tensor on_device = a.to(cuda->device()).matmul(b.to(cuda->device())).cpu();
  // Sums of 1024 products of size 1 in fp32: about 32 * 6e-8 in the mean; TF32 (10 bits) would be 500 times
  // off.
  CHECK((on_device.to(at::kDouble) - exact).abs().max().item<double>() < 2e-4);
}

TEST_CASE("nccl joins a world of one and sums", "[cuda]") {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const auto group = dist::make_group(store, 0, 1, *cuda, std::chrono::seconds(60), "cuda-test");
  at::Tensor x = at::arange(1000, at::TensorOptions(cuda->device()).dtype(at::kFloat));
  group->all_reduce_sum(x);
  CHECK(at::equal(x.cpu(), at::arange(1000, at::kFloat)));
  CHECK(at::equal(group->all_gather(at::ones({3})).at(0), at::ones({3})));
  group->barrier();
}

TEST_CASE("fused AdamW on the device follows the processor", "[cuda]") {
  const spec::OptimizerSpec spec;
  const at::Tensor start = at::randn({1000});
  const auto train = [&](at::Device device) {
    const at::Tensor p = start.to(device).clone().requires_grad_();
    const auto optimizer = optim::make_optimizer(spec, {{"p", p}});
    optimizer->set_lr(1e-2);
    for (int step = 0; step < 10; ++step) {
      p.mutable_grad() = (start * (step + 1)).sin().to(device);
      optimizer->step();
    }
    return p.detach().cpu();
  };
  // Ten updates of size 1e-2; the two kernels round differently in the last place of fp32 values of size 3.
  CHECK(at::allclose(train(cuda->device()), train(at::kCPU), /*rtol=*/1e-6, /*atol=*/1e-6));
}

TEST_CASE("a pinned copy is page locked and equal", "[cuda]") {
  const at::Tensor host = at::arange(1000);
  const at::Tensor pinned = cuda->pin(host);
  CHECK(pinned.is_pinned());
  const at::Tensor on_device = pinned.to(cuda->device(), /*non_blocking=*/true);
  cuda->synchronize();
  CHECK(at::equal(on_device.cpu(), host));
}

TEST_CASE("the measured peak lies below the data sheet", "[cuda]") {
  const double bf16 = device::measure_matmul_tflops(*cuda, at::kBFloat16);
  const double fp32 = device::measure_matmul_tflops(*cuda, at::kFloat);
  WARN(cuda->description() << ": bf16 " << bf16 << " TFLOP/s, fp32 " << fp32 << " TFLOP/s");
  CHECK(bf16 > fp32);
  const auto sheet = cuda->spec_peak_tflops(at::kBFloat16);
  // Clocks can go a little over the sheet's for a moment.
  if (sheet.has_value()) CHECK(bf16 < 1.05 * *sheet);
}
