// The bf16 and fp16 scopes: which op runs in which dtype, casts made once, and nothing left behind.
#include "precision/compute_scope.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>

#include <catch2/catch.hpp>

using namespace trainctl;
using precision::ComputeScope;
using spec::ComputeDtype;

TEST_CASE("matmuls run in bf16 and norms and sums in their input's dtype") {
  const at::Tensor x = at::rand({2, 3, 8}), w = at::rand({8, 8}), scale = at::rand(8);
  const ComputeScope scope(ComputeDtype::kBf16, at::kCPU);
  CHECK(at::linear(x, w).scalar_type() == at::kBFloat16);
  CHECK(at::addmm(scale, x.reshape({-1, 8}), w).scalar_type() == at::kBFloat16);
  CHECK(at::matmul(x, w).scalar_type() == at::kBFloat16);
  const at::Tensor heads = at::rand({1, 2, 4, 8});
  CHECK(at::scaled_dot_product_attention(heads, heads, heads).scalar_type() == at::kBFloat16);
  CHECK(at::conv2d(at::rand({1, 3, 8, 8}), at::rand({4, 3, 3, 3})).scalar_type() == at::kBFloat16);
  CHECK(at::embedding(w, at::zeros({2}, at::kLong)).scalar_type() == at::kFloat);
  CHECK(at::layer_norm(x, {8}, scale, scale).scalar_type() == at::kFloat);
  CHECK((at::linear(x, w) + x).scalar_type() == at::kFloat);  // the residual stream stays float32
  CHECK(at::gelu(at::linear(x, w), "tanh").scalar_type() == at::kBFloat16);
}

TEST_CASE("fp16 follows the same list") {
  const at::Tensor x = at::rand({2, 8}), w = at::rand({8, 8});
  const ComputeScope scope(ComputeDtype::kFp16, at::kCPU);
  CHECK(at::linear(x, w).scalar_type() == at::kHalf);
  CHECK(at::layer_norm(x, {8}, at::rand(8), at::rand(8)).scalar_type() == at::kFloat);
  CHECK((at::linear(x, w) + x).scalar_type() == at::kFloat);
}

TEST_CASE("a parameter is cast once within a scope and the cast is freed at its end") {
  const at::Tensor w = at::rand({8, 8}).set_requires_grad(true);
  const at::Tensor x = at::rand({2, 8});
  at::Tensor first, second;
  {
    const ComputeScope outer(ComputeDtype::kBf16, at::kCPU);
    first = at::autocast::cached_cast(at::kBFloat16, w, at::kCPU);
    {
      const ComputeScope inner(ComputeDtype::kBf16, at::kCPU);
      second = at::autocast::cached_cast(at::kBFloat16, w, at::kCPU);
    }
    CHECK(first.unsafeGetTensorImpl() == second.unsafeGetTensorImpl());
    CHECK(at::autocast::cached_cast(at::kBFloat16, w, at::kCPU).unsafeGetTensorImpl() ==
          first.unsafeGetTensorImpl());
  }
  const ComputeScope later(ComputeDtype::kBf16, at::kCPU);
  CHECK(at::autocast::cached_cast(at::kBFloat16, w, at::kCPU).unsafeGetTensorImpl() !=
        first.unsafeGetTensorImpl());
}

TEST_CASE("gradients of float32 parameters are float32") {
  const at::Tensor w = at::rand({8, 8}).set_requires_grad(true);
  at::Tensor y;
  {
    const ComputeScope scope(ComputeDtype::kBf16, at::kCPU);
    y = at::linear(at::rand({2, 8}), w);
  }
  y.to(at::kFloat).sum().backward();
  CHECK(w.grad().scalar_type() == at::kFloat);
}

TEST_CASE("the scope ends with what was there before") {
  CHECK_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
  const at::ScalarType before = at::autocast::get_autocast_dtype(at::kCPU);
  {
    const ComputeScope scope(ComputeDtype::kBf16, at::kCPU);
    CHECK(at::autocast::is_autocast_enabled(at::kCPU));
    CHECK_FALSE(at::autocast::is_autocast_enabled(at::kCUDA));
  }
  CHECK_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
  CHECK(at::autocast::get_autocast_dtype(at::kCPU) == before);
  const ComputeScope none(ComputeDtype::kFp32, at::kCPU);
  CHECK_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
}
