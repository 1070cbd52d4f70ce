// groups.h: parameters sorted by what happens to them, for the optimizers' fused kernels.
#pragma once

#include <vector>

#include "optim/optimizer.h"

namespace trainctl::optim {

struct Group {
  std::vector<Parameter> parameters;
  std::vector<at::Tensor> tensors;  // of `parameters`
  double weight_decay = 0;
};

/// Two groups, decayed and not, as spec.decay says; an empty one is left out.
std::vector<Group> split_by_decay(const spec::OptimizerSpec& spec, const std::vector<Parameter>& parameters);

/// A scalar on the device of `like`, for a learning rate.  CPU kernels read it as a double, CUDA's as a
/// float.
at::Tensor lr_tensor(const at::Tensor& like);

/// Zeros of each tensor's shape: the state of a group.
std::vector<at::Tensor> zeros_like_each(const std::vector<at::Tensor>& tensors);

std::unique_ptr<Optimizer> make_adamw(const spec::OptimizerSpec& spec, std::vector<Group> groups);
std::unique_ptr<Optimizer> make_sgd(const spec::OptimizerSpec& spec, std::vector<Group> groups);

}  // namespace trainctl::optim
