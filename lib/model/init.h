// init.h: initial values.  They depend on the seed, the tensor's name and the element's number only: never on
// the number of ranks or threads, on the order of tensors, or on which part of a tensor is made.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "spec/job_spec.h"

namespace trainctl::model {

/// What a tensor starts as: `constant` in every element, or normal noise of standard deviation `stddev`.
struct InitRule {
  double stddev = 0;  // 0: constant
  double constant = 0;
};

/// The rule for a parameter or buffer of this name and shape:
///   1-D "weight", "running_var"          1 (norm scales)
///   other 1-D and 0-D                    0 (biases, running means, counters)
///   transformers                         0.02, and 0.02 / sqrt(2 layers) for the projections into the
///   residual
///                                        stream: c_proj, o_proj, down_proj (Radford et al. 2019)
///   convolution [o, i, kh, kw]           sqrt(2 / (o kh kw)) (He et al. 2015, fan out)
///   other linear [out, in]               1 / sqrt(in)
InitRule init_rule(const spec::ModelSpec& spec, const std::string& name, at::IntArrayRef shape);

/// Writes the elements begin .. begin + part.numel() - 1 (row-major) of the tensor `name` into `part`, a
/// contiguous float32 or int64 CPU tensor of any shape.  Runs on ATen's threads; equal bits for any number of
/// them.
void init_part(at::Tensor& part, const InitRule& rule, int64_t seed, const std::string& name, int64_t begin);

}  // namespace trainctl::model
