#include <torch/torch.h>

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
  // A host's scalar costs nothing to read, and a factor of 1 would cost a pass over all gradients.
  if (factor.is_cpu() && factor.item<float>() == 1.0f) return;
  at::_foreach_mul_(gradients_of(parameters), factor);
}

}  // namespace trainctl::optim
