// optimizer.h: parameter updates.  lr and step are tensors, so that a captured step replays.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "spec/job_spec.h"

namespace trainctl::optim {

struct Parameter {
  std::string name;
  at::Tensor tensor;  // its grad is read by step()
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual void set_lr(double lr) = 0;
  virtual void step() = 0;
  /// Zeroes the gradients in place (a Reducer's bucket views stay valid).
  virtual void zero_grad() = 0;
};

/// AdamW (Loshchilov and Hutter 2019; ATen's fused kernel) or SGD with momentum (ATen's fused kernel), with
/// weight decay as spec.decay says.
std::unique_ptr<Optimizer> make_optimizer(const spec::OptimizerSpec& spec, std::vector<Parameter> parameters);

/// lr of a global step (from 0); a pure function of it.
///   warm-up  s < W:  lr (s+1)/W
///   cosine   min + (lr-min) (1 + cos(pi t))/2, linear  lr + (min-lr) t,  t = min(1, (s-W)/max(1, S-W))
///   wsd      lr until the last decay_share of S, then linear to min
double lr_at(const spec::ScheduleSpec& schedule, double lr, int64_t total_steps, int64_t step);

/// Global L2 norm of all gradients, as a device scalar (no wait), and g *= min(1, clip/(norm + 1e-6)) where
/// clip > 0 (torch's clip_grad_norm_).  Gradients are equal on all ranks under DDP, so nothing communicates.
at::Tensor clip_gradients(const std::vector<Parameter>& parameters, double clip_norm);

}  // namespace trainctl::optim
