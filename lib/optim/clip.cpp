#include <torch/types.h>

#include <cmath>

#include "optim/optimizer.h"

namespace trainctl::optim {

GradientNorm gradient_norm(const std::vector<Parameter>& parameters) {
  const at::NoGradGuard no_grad;
  const at::Tensor each = torch::stack(at::_foreach_norm(gradients_of(parameters)));
  return {.each = each, .total = at::linalg_vector_norm(each)};
}

void clip_gradients(const std::vector<Parameter>& parameters, const GradientNorm& norm, double clip_norm) {
  const at::NoGradGuard no_grad;
  const at::Tensor factor = (norm.total + 1e-6).reciprocal_().mul_(clip_norm).clamp_max_(1.0);
  if (factor.is_cpu()) {  // reading it costs nothing here, and multiplying by 1 would cost a pass over all
                          // gradients
    const float value = factor.item<float>();
    if (value == 1.0f || !std::isfinite(norm.total.item<float>())) return;
  }
  at::_foreach_mul_(gradients_of(parameters), factor);
}

}  // namespace trainctl::optim
