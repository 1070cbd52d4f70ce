// rope.h: rotary position embedding (Su et al. 2021) in Hugging Face's half-split form, and Llama 3.1's
// scaling.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "spec/job_spec.h"

namespace trainctl::model {

/// Llama 3.1's stretch of the slow frequencies (Grattafiori et al. 2024; Hugging Face's rope_type "llama3").
struct Llama31Scaling {
  double factor, low_freq_factor, high_freq_factor;
  int64_t original_max_seq_len;
};

struct RopeSpec {
  int64_t head_dim;
  double theta;
  std::optional<Llama31Scaling> scaling;
};

/// Cosine and sine of every position's angles, [T, D] float32 each; angle i and angle i + D/2 are equal.
struct Rotation {
  at::Tensor cos, sin;
  Rotation first(int64_t tokens) const;
  Rotation to(at::ScalarType dtype) const;
};

RopeSpec rope_spec(const spec::ModelSpec& spec);

/// The D/2 frequencies theta^(-2i/D), scaled where asked, float32 on the CPU.
at::Tensor frequencies(const RopeSpec& rope);

Rotation make_rotation(const RopeSpec& rope, int64_t tokens, at::Device device);

/// x [B, H, T, D] turned: x cos + (-x_2, x_1) sin, with x = (x_1, x_2) split in the middle of D.
at::Tensor rotate(const at::Tensor& x_BHTD, const Rotation& rotation);

}  // namespace trainctl::model
