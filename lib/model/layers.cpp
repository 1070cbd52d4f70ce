#include "model/layers.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>

namespace trainctl::model {
namespace {

at::Tensor meta(at::IntArrayRef shape, at::ScalarType dtype) {
  return at::empty(shape, at::TensorOptions().device(at::kMeta).dtype(dtype));
}

std::string join(const std::string& prefix, std::string_view name) {
  return prefix.empty() ? std::string(name) : prefix + "." + std::string(name);
}

}  // namespace

Scope Scope::operator/(std::string_view name) const {
  Scope inner(*slots_);
  inner.prefix_ = join(prefix_, name);
  return inner;
}

void Scope::parameter(std::string_view name, at::Tensor& tensor, at::IntArrayRef shape) const {
  tensor = meta(shape, at::kFloat).set_requires_grad(true);
  slots_->parameters.push_back({join(prefix_, name), &tensor});
}

void Scope::buffer(std::string_view name, at::Tensor& tensor, at::IntArrayRef shape,
                   at::ScalarType dtype) const {
  tensor = meta(shape, dtype);
  slots_->buffers.push_back({join(prefix_, name), &tensor});
}

Linear::Linear(const Scope& scope, int64_t in, int64_t out, bool with_bias) {
  scope.parameter("weight", weight, {out, in});
  if (with_bias) scope.parameter("bias", bias, {out});
}

at::Tensor Linear::operator()(const at::Tensor& x) const {
  return at::linear(x, weight, bias.defined() ? std::optional<at::Tensor>(bias) : std::nullopt);
}

Conv1D::Conv1D(const Scope& scope, int64_t in, int64_t out) {
  scope.parameter("weight", weight, {in, out});
  scope.parameter("bias", bias, {out});
}

at::Tensor Conv1D::operator()(const at::Tensor& x) const {
  std::vector<int64_t> shape = x.sizes().vec();
  shape.back() = -1;
  return at::addmm(bias, x.reshape({-1, x.size(-1)}), weight).view(shape);
}

Embedding::Embedding(const Scope& scope, int64_t count, int64_t dim) {
  scope.parameter("weight", weight, {count, dim});
}

at::Tensor Embedding::operator()(const at::Tensor& index) const { return at::embedding(weight, index); }

LayerNorm::LayerNorm(const Scope& scope, int64_t dim, double epsilon) : eps(epsilon) {
  scope.parameter("weight", weight, {dim});
  scope.parameter("bias", bias, {dim});
}

at::Tensor LayerNorm::operator()(const at::Tensor& x) const {
  return at::layer_norm(x, weight.sizes(), weight, bias, eps, at::globalContext().userEnabledCuDNN());
}

RmsNorm::RmsNorm(const Scope& scope, int64_t dim, double epsilon) : eps(epsilon) {
  scope.parameter("weight", weight, {dim});
}

at::Tensor RmsNorm::operator()(const at::Tensor& x) const {
  const at::Tensor h = x.to(at::kFloat);
  return weight * (h * (h.pow(2).mean({-1}, /*keepdim=*/true) + eps).rsqrt()).to(x.scalar_type());
}

Conv2d::Conv2d(const Scope& scope, int64_t in, int64_t out, int64_t kernel, int64_t stride_, int64_t padding_)
    : stride(stride_), padding(padding_) {
  scope.parameter("weight", weight, {out, in, kernel, kernel});
}

at::Tensor Conv2d::operator()(const at::Tensor& x) const {
  return at::conv2d(x, weight, {}, {stride, stride}, at::IntArrayRef({padding, padding}));
}

BatchNorm2d::BatchNorm2d(const Scope& scope, int64_t channels) {
  scope.parameter("weight", weight, {channels});
  scope.parameter("bias", bias, {channels});
  scope.buffer("running_mean", running_mean, {channels}, at::kFloat);
  scope.buffer("running_var", running_var, {channels}, at::kFloat);
  scope.buffer("num_batches_tracked", num_batches_tracked, {}, at::kLong);
}

at::Tensor BatchNorm2d::operator()(const at::Tensor& x, bool training) {
  if (training) num_batches_tracked.add_(1);
  return at::batch_norm(x, weight, bias, running_mean, running_var, training, /*momentum=*/0.1, /*eps=*/1e-5,
                        at::globalContext().userEnabledCuDNN());
}

at::Tensor drop_elements(const at::Tensor& x, double p, bool training) {
  return p > 0 ? at::dropout(x, p, training) : x;
}

std::vector<NamedTensor> SlotModel::list(const std::vector<Slots::Slot>& slots) {
  std::vector<NamedTensor> all;
  all.reserve(slots.size());
  for (const Slots::Slot& slot : slots) all.push_back({slot.name, *slot.tensor});
  return all;
}

void SlotModel::set_tensors(const std::vector<at::Tensor>& parameters,
                            const std::vector<at::Tensor>& buffers) {
  TORCH_CHECK(parameters.size() == slots_.parameters.size() && buffers.size() == slots_.buffers.size(),
              "set_tensors: ", parameters.size(), " parameters and ", buffers.size(),
              " buffers for a model of ", slots_.parameters.size(), " and ", slots_.buffers.size());
  for (size_t k = 0; k < parameters.size(); ++k) {
    const Slots::Slot& slot = slots_.parameters[k];
    TORCH_CHECK(parameters[k].sizes() == slot.tensor->sizes(), "set_tensors: ", slot.name, " is ",
                slot.tensor->sizes(), ", got ", parameters[k].sizes());
    *slot.tensor = parameters[k];
    if (parameters[k].is_leaf()) slot.tensor->set_requires_grad(true);
  }
  for (size_t k = 0; k < buffers.size(); ++k) *slots_.buffers[k].tensor = buffers[k];
}

}  // namespace trainctl::model
