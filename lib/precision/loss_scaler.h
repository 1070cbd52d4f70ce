// loss_scaler.h: dynamic loss scaling for fp16, whose smallest number is 6e-8: the loss is multiplied before
// backward and the gradients are divided after it, so that small ones do not vanish on the way.
// The rule is torch.amp.GradScaler's.  Nothing here waits for a device or communicates.
#pragma once

#include <ATen/core/Tensor.h>

#include "spec/job_spec.h"

namespace trainctl::precision {

class LossScaler {
 public:
  /// Without precision.compute fp16 it is off: then nothing below does anything.
  LossScaler(const spec::PrecisionSpec& spec, at::Device device);

  bool enabled() const { return value_.defined(); }

  /// The loss times the scale.
  at::Tensor scale(const at::Tensor& loss) const;

  /// Divides float32 gradients by the scale, in place.  What is not finite stays so: a norm taken after this
  /// finds it.
  void unscale(at::TensorList gradients) const;

  /// Ends a step: halves the scale after an overflow, doubles it after loss_scale_window steps in a row
  /// without one.
  ///
  /// overflow  float scalar on the device: 1 where the step was not applied because a gradient was not
  /// finite,
  ///           else 0.  Equal on all ranks, so that their scales stay equal
  /// returns   a copy of the scale that this step used; undefined where this is off
  at::Tensor update(const at::Tensor& overflow);

  /// The whole state, on the device: float32 and int32 scalars, changed in place by update().
  const at::Tensor& value() const { return value_; }
  const at::Tensor& steps_since_change() const { return steps_since_change_; }

 private:
  at::Tensor value_, steps_since_change_;
  int64_t window_;
};

}  // namespace trainctl::precision
