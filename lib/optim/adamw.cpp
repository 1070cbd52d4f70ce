#include <torch/types.h>

#include "optim/groups.h"

namespace trainctl::optim {
namespace {

class AdamW final : public Optimizer {
 public:
  AdamW(const spec::OptimizerSpec& spec, std::vector<Group> groups)
      : spec_(spec), groups_(std::move(groups)) {
    if (groups_.empty()) return;
    const at::Tensor& first = groups_.front().tensors.front();
    lr_ = lr_tensor(first);
    step_ = torch::zeros({}, first.options().dtype(torch::kFloat32));
    for (const Group& group : groups_) {
      state_.push_back({.mean = zeros_like_each(group.tensors),
                        .square = zeros_like_each(group.tensors),
                        .step = std::vector<at::Tensor>(group.tensors.size(), step_)});
    }
  }

  void set_lr(double lr) override { lr_.fill_(lr); }

  /// p -= lr wd p, then Adam with bias correction, eps added after the corrected square root (torch's order).
  void step(const at::Tensor& skip) override {
    const at::NoGradGuard no_grad;
    const std::optional<at::Tensor> found_inf = skip.defined() ? std::optional(skip) : std::nullopt;
    step_.add_(1);
    for (size_t g = 0; g < groups_.size(); ++g) {
      const auto gradients = gradients_of(groups_[g].parameters);
      at::_fused_adamw_(groups_[g].tensors, gradients, state_[g].mean, state_[g].square, {}, state_[g].step,
                        lr_, spec_.beta1, spec_.beta2, groups_[g].weight_decay, spec_.eps, /*amsgrad=*/false,
                        /*maximize=*/false, /*grad_scale=*/{}, found_inf);
    }
    if (skip.defined()) step_.sub_(skip);
  }

  void zero_grad() override {
    for (Group& group : groups_) {
      for (at::Tensor& tensor : group.tensors) tensor.mutable_grad().reset();
    }
  }

 private:
  /// Running means of gradient and squared gradient; `step` holds one shared tensor as often as the kernel
  /// asks.
  struct State {
    std::vector<at::Tensor> mean, square, step;
  };

  spec::OptimizerSpec spec_;
  std::vector<Group> groups_;
  std::vector<State> state_;
  at::Tensor lr_, step_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adamw(const spec::OptimizerSpec& spec, std::vector<Group> groups) {
  return std::make_unique<AdamW>(spec, std::move(groups));
}

}  // namespace trainctl::optim
