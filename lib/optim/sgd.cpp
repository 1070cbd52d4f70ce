#include <torch/types.h>

#include "optim/groups.h"

namespace trainctl::optim {
namespace {

class Sgd final : public Optimizer {
 public:
  Sgd(const spec::OptimizerSpec& spec, std::vector<Group> groups) : spec_(spec), groups_(std::move(groups)) {
    if (groups_.empty()) return;
    lr_ = lr_tensor(groups_.front().tensors.front());
    for (const Group& group : groups_) {
      momentum_.push_back(spec_.momentum == 0 ? std::vector<at::Tensor>{} : zeros_like_each(group.tensors));
    }
  }

  void set_lr(double lr) override { lr_.fill_(lr); }

  /// g += wd p;  v = momentum v + g;  p -= lr (nesterov ? g + momentum v : v).  The kernel's "first step" (v
  /// = g) is never asked for: v starts at zero, which gives the same, also where a skipped step came first.
  void step(const at::Tensor& skip) override {
    const at::NoGradGuard no_grad;
    const std::optional<at::Tensor> found_inf = skip.defined() ? std::optional(skip) : std::nullopt;
    for (size_t g = 0; g < groups_.size(); ++g) {
      const auto gradients = gradients_of(groups_[g].parameters);
      at::_fused_sgd_(groups_[g].tensors, gradients, momentum_[g], groups_[g].weight_decay, spec_.momentum,
                      lr_,
                      /*dampening=*/0, spec_.nesterov, /*maximize=*/false, /*is_first_step=*/false,
                      /*grad_scale=*/{}, found_inf);
    }
  }

  void zero_grad() override {
    for (Group& group : groups_) {
      for (at::Tensor& tensor : group.tensors) tensor.mutable_grad().reset();
    }
  }

 private:
  spec::OptimizerSpec spec_;
  std::vector<Group> groups_;
  std::vector<std::vector<at::Tensor>> momentum_;
  at::Tensor lr_;
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(const spec::OptimizerSpec& spec, std::vector<Group> groups) {
  return std::make_unique<Sgd>(spec, std::move(groups));
}

}  // namespace trainctl::optim
