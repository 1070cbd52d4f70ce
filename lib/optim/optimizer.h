// optimizer.h: parameter updates.  lr and step are tensors, so that a captured step replays; nothing here
// waits for a device.
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
  /// One update of every parameter, in place.
  /// skip     undefined, or a float scalar on the parameters' device: 1 leaves parameters and state as they
  /// are throws   c10::Error naming a parameter without a gradient
  virtual void step(const at::Tensor& skip = {}) = 0;
  /// Drops the gradients.  Backward then keeps the first gradient that it makes instead of adding it to
  /// zeros, and a Reducer divides it while it copies it into its bucket: one pass over memory less than
  /// zeroing in place.
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

/// L2 norms of the gradients, on their device: nothing waits for them.
struct GradientNorm {
  at::Tensor each;   // [P], one a parameter, in order
  at::Tensor total;  // scalar, of all gradients together; not finite where one of them is not
};

/// Under DDP the gradients are equal on all ranks, so nothing communicates.
GradientNorm gradient_norm(const std::vector<Parameter>& parameters);

/// g *= min(1, clip_norm / (norm + 1e-6)), as torch's clip_grad_norm_ does; on CPUs a norm that is not finite
/// leaves the gradients alone (on a GPU, where finding out would wait, they are lost: such a step is skipped
/// anyway).
void clip_gradients(const std::vector<Parameter>& parameters, const GradientNorm& norm, double clip_norm);

/// The gradients, in order.  Throws c10::Error naming a parameter that has none.
std::vector<at::Tensor> gradients_of(const std::vector<Parameter>& parameters);

}  // namespace trainctl::optim
