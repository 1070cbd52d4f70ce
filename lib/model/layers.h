// layers.h: the few layers that our networks are made of, as plain structs.  A layer is built on the meta
// device in a Scope, which names its tensors and remembers where they live, so that a Model can list and
// replace them. Each layer runs the same ATen op as its torch.nn namesake, so that results are bitwise
// PyTorch's.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"

namespace trainctl::model {

/// Where a model's tensors live, in registration order.
struct Slots {
  struct Slot {
    std::string name;
    at::Tensor* tensor;
  };
  std::vector<Slot> parameters, buffers;
};

/// A place in the tree of names: Scope(slots) / "layers" / 3 names its tensors "layers.3.<name>".
class Scope {
 public:
  explicit Scope(Slots& slots) : slots_(&slots) {}
  Scope operator/(std::string_view name) const;
  Scope operator/(int64_t index) const { return *this / std::to_string(index); }
  /// Makes `tensor` a float32 parameter on the meta device and lists it.  `tensor` must not move afterwards.
  void parameter(std::string_view name, at::Tensor& tensor, at::IntArrayRef shape) const;
  void buffer(std::string_view name, at::Tensor& tensor, at::IntArrayRef shape, at::ScalarType dtype) const;

 private:
  Slots* slots_;
  std::string prefix_;
};

/// Base of the layers: they stay where they were built, because Slots points into them.
struct Layer {
  Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;
};

/// y = x W^T + b, W [out, in].
struct Linear : Layer {
  at::Tensor weight, bias;  // bias undefined where there is none
  Linear(const Scope& scope, int64_t in, int64_t out, bool with_bias);
  at::Tensor operator()(const at::Tensor& x) const;
};

/// y = x W + b, W [in, out]: GPT-2's layout, the transpose of Linear's.
struct Conv1D : Layer {
  at::Tensor weight, bias;
  Conv1D(const Scope& scope, int64_t in, int64_t out);
  at::Tensor operator()(const at::Tensor& x) const;
};

/// Rows of W [count, dim].
struct Embedding : Layer {
  at::Tensor weight;
  Embedding(const Scope& scope, int64_t count, int64_t dim);
  at::Tensor operator()(const at::Tensor& index) const;
};

struct LayerNorm : Layer {
  at::Tensor weight, bias;
  double eps;
  LayerNorm(const Scope& scope, int64_t dim, double epsilon);
  at::Tensor operator()(const at::Tensor& x) const;
};

/// w * (x / rms(x)), the middle in float32 whatever x is.  Source: Zhang and Sennrich (2019).
struct RmsNorm : Layer {
  at::Tensor weight;
  double eps;
  RmsNorm(const Scope& scope, int64_t dim, double epsilon);
  at::Tensor operator()(const at::Tensor& x) const;
};

/// 2-D convolution without bias, W [out, in, kernel, kernel].
struct Conv2d : Layer {
  at::Tensor weight;
  int64_t stride, padding;
  Conv2d(const Scope& scope, int64_t in, int64_t out, int64_t kernel, int64_t stride_, int64_t padding_);
  at::Tensor operator()(const at::Tensor& x) const;
};

/// Batch norm over N, H, W; momentum 0.1, eps 1e-5 (torchvision's).  In training it updates its buffers.
struct BatchNorm2d : Layer {
  at::Tensor weight, bias, running_mean, running_var, num_batches_tracked;
  BatchNorm2d(const Scope& scope, int64_t channels);
  at::Tensor operator()(const at::Tensor& x, bool training);
};

/// Zeroes elements with probability p and scales the rest by 1/(1-p), in training only.  p = 0 runs no op.
at::Tensor drop_elements(const at::Tensor& x, double p, bool training);

/// FLOPs of forward and backward for one sample, as Model::flops_per_sample counts them.  weights: parameters
/// of the matmuls of a token.
inline double transformer_flops(double weights, int64_t layers, int64_t dim, int64_t seq_len) {
  const double t = static_cast<double>(seq_len);
  return t * (6 * weights + 12 * static_cast<double>(layers * dim) * t);
}

/// The part of Model that follows from Slots.  A network derives from it, builds its layers in scope() and
/// keeps them in members that do not move (no std::vector of layers: a deque, or unique_ptrs).
class SlotModel : public Model {
 public:
  std::vector<NamedTensor> parameters() override { return list(slots_.parameters); }
  std::vector<NamedTensor> buffers() override { return list(slots_.buffers); }
  void train(bool on) override { training_ = on; }
  void set_tensors(const std::vector<at::Tensor>& parameters,
                   const std::vector<at::Tensor>& buffers) override;

 protected:
  Scope scope() { return Scope(slots_); }
  bool training() const { return training_; }

 private:
  static std::vector<NamedTensor> list(const std::vector<Slots::Slot>& slots);
  Slots slots_;
  bool training_ = true;
};

}  // namespace trainctl::model
