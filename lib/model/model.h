// model.h: a network as single-device code.  How it is spread over devices and ranks is decided outside
// (train/, dist/); a model knows neither.  Parameters have Hugging Face's names (resnet: torchvision's).
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "spec/job_spec.h"

namespace trainctl::model {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

class Model {
 public:
  virtual ~Model() = default;

  /// input    tokens [B, T] int64, or features [B, ...] float32
  /// returns  logits [B, T, V] or [B, classes], in the dtype of the last matmul
  virtual at::Tensor forward(const at::Tensor& input) = 0;

  /// In registration order, each tensor once (a tied head is listed under its embedding's name only).
  virtual std::vector<NamedTensor> parameters() = 0;
  /// State that is saved but not trained (batch norm's running statistics), in registration order.
  virtual std::vector<NamedTensor> buffers() = 0;
  /// Names that share another parameter's storage: {"lm_head.weight", "transformer.wte.weight"}.
  virtual std::vector<std::pair<std::string, std::string>> tied() const { return {}; }
  virtual void train(bool on) = 0;

  /// Replaces every parameter and buffer handle: the k-th tensor of parameters(), then of buffers().
  /// Turns a model built on the meta device into a real one.
  virtual void set_tensors(const std::vector<at::Tensor>& parameters,
                           const std::vector<at::Tensor>& buffers) = 0;

  /// Model FLOPs of forward and backward for one sample of `seq_len` tokens (1 for images and features): 6
  /// per matmul parameter and token, plus attention's 12 L T D (causal masks not discounted), as in Chowdhery
  /// et al. (2022), appendix B.
  virtual double flops_per_sample(int64_t seq_len) const = 0;
};

/// The model of a resolved spec, on the meta device: shapes and names, no memory.
std::unique_ptr<Model> make_model(const spec::ModelSpec& spec);

/// Gives a meta model memory on `device` and its initial values: from spec.init_from where that is set, else
/// from seed and name alone (init.h).  Values never depend on the number of ranks.
void materialize(Model& model, const spec::ModelSpec& spec, int64_t seed, at::Device device);

}  // namespace trainctl::model
