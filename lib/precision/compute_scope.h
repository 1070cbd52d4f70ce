// compute_scope.h: the dtype of the matmuls inside a scope.  Parameters, gradients and optimizer state stay
// float32; README.md says which op runs in which dtype.
#pragma once

#include <ATen/core/Tensor.h>

#include "spec/job_spec.h"

namespace trainctl::precision {

/// What `with torch.autocast(device, bfloat16):` (or float16) does in Python, op for op; with kFp32 nothing.
/// Belongs around the forward pass, not around the loss or backward.  A parameter is cast once within the
/// scope (and the cast's backward runs once); the casts are freed when the outermost scope ends.  Per thread;
/// scopes nest.
class ComputeScope {
 public:
  ComputeScope(spec::ComputeDtype dtype, at::DeviceType device);
  ~ComputeScope();
  ComputeScope(const ComputeScope&) = delete;
  ComputeScope& operator=(const ComputeScope&) = delete;

 private:
  at::DeviceType device_;
  bool active_;
  bool enabled_before_ = false;
  bool cache_before_ = false;
  at::ScalarType dtype_before_ = at::kFloat;
};

}  // namespace trainctl::precision
