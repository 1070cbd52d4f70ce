#include "optim/optimizer.h"

#include <torch/types.h>

#include "optim/groups.h"

namespace trainctl::optim {

std::vector<Group> split_by_decay(const spec::OptimizerSpec& spec, const std::vector<Parameter>& parameters) {
  Group decayed{.weight_decay = spec.weight_decay};
  Group plain;
  for (const Parameter& p : parameters) {
    const bool decay = spec.decay == spec::DecayTensors::kAll || p.tensor.dim() >= 2;
    Group& group = decay ? decayed : plain;
    group.parameters.push_back(p);
    group.tensors.push_back(p.tensor);
  }
  std::vector<Group> groups;
  for (Group* group : {&decayed, &plain}) {
    if (!group->tensors.empty()) groups.push_back(std::move(*group));
  }
  return groups;
}

at::Tensor lr_tensor(const at::Tensor& like) {
  return torch::zeros({}, like.options().dtype(like.is_cpu() ? torch::kFloat64 : torch::kFloat32));
}

std::vector<at::Tensor> zeros_like_each(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> zeros;
  for (const at::Tensor& t : tensors) zeros.push_back(torch::zeros_like(t, at::MemoryFormat::Preserve));
  return zeros;
}

std::vector<at::Tensor> gradients_of(const std::vector<Parameter>& parameters) {
  std::vector<at::Tensor> gradients;
  gradients.reserve(parameters.size());
  for (const Parameter& p : parameters) {
    const at::Tensor& gradient = p.tensor.grad();
    TORCH_CHECK(gradient.defined(), "parameter ", p.name, " has no gradient: the loss does not depend on it");
    gradients.push_back(gradient);
  }
  return gradients;
}

std::unique_ptr<Optimizer> make_optimizer(const spec::OptimizerSpec& spec,
                                          std::vector<Parameter> parameters) {
  auto groups = split_by_decay(spec, parameters);
  return spec.kind == spec::OptimizerKind::kAdamW ? make_adamw(spec, std::move(groups))
                                                  : make_sgd(spec, std::move(groups));
}

}  // namespace trainctl::optim
