#include "precision/loss_scaler.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/full.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/zeros.h>

namespace trainctl::precision {

LossScaler::LossScaler(const spec::PrecisionSpec& spec, at::Device device) : window_(spec.loss_scale_window) {
  if (spec.compute != spec::ComputeDtype::kFp16) return;
  value_ = at::full({}, spec.loss_scale, at::device(device).dtype(at::kFloat));
  steps_since_change_ = at::zeros({}, at::device(device).dtype(at::kInt));
}

at::Tensor LossScaler::scale(const at::Tensor& loss) const { return enabled() ? loss * value_ : loss; }

void LossScaler::unscale(at::TensorList gradients) const {
  if (!enabled()) return;
  const at::NoGradGuard no_grad;
  // In double, so that a scale that is no power of two is rounded once.
  at::_foreach_mul_(gradients, value_.to(at::kDouble).reciprocal().to(at::kFloat));
}

at::Tensor LossScaler::update(const at::Tensor& overflow) {
  if (!enabled()) return {};
  at::Tensor used = value_.clone();
  at::_amp_update_scale_(value_, steps_since_change_, overflow, /*scale_growth_factor=*/2,
                         /*scale_backoff_factor=*/0.5, window_);
  return used;
}

}  // namespace trainctl::precision
