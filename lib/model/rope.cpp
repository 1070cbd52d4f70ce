#include "model/rope.h"

#include <ATen/ATen.h>

#include <numbers>

namespace trainctl::model {

Rotation Rotation::first(int64_t tokens) const {
  return {cos.narrow(0, 0, tokens), sin.narrow(0, 0, tokens)};
}

Rotation Rotation::to(at::ScalarType dtype) const { return {cos.to(dtype), sin.to(dtype)}; }

RopeSpec rope_spec(const spec::ModelSpec& spec) {
  RopeSpec rope{.head_dim = spec.dim.value() / spec.num_heads.value(),
                .theta = spec.rope_theta.value_or(10000.0)};
  if (spec.rope_scaling == spec::RopeScaling::kLlama31)
    rope.scaling = Llama31Scaling{.factor = spec.rope_factor.value(),
                                  .low_freq_factor = spec.rope_low_freq_factor.value(),
                                  .high_freq_factor = spec.rope_high_freq_factor.value(),
                                  .original_max_seq_len = spec.rope_original_max_seq_len.value()};
  return rope;
}

at::Tensor frequencies(const RopeSpec& rope) {
  const int64_t d = rope.head_dim;
  // The same float32 ops as PyTorch's theta ** (-arange(0, d, 2) / d): double here would differ in the last
  // bits.
  at::Tensor freq = at::pow(rope.theta, at::arange(0, d, 2, at::kFloat).neg().div(d));
  if (!rope.scaling) return freq;
  const Llama31Scaling& s = *rope.scaling;
  const double original = static_cast<double>(s.original_max_seq_len);
  // Waves longer than the original context over low_freq_factor are stretched by `factor`, those shorter than
  // it over high_freq_factor are kept, and between them the two are mixed.
  const at::Tensor wavelength = 2 * std::numbers::pi / freq;
  const at::Tensor keep =
      (original / wavelength - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
  const at::Tensor mixed = (1 - keep) * (freq / s.factor) + keep * freq;
  const at::Tensor is_long = wavelength > original / s.low_freq_factor;
  const at::Tensor is_short = wavelength < original / s.high_freq_factor;
  return at::where(is_long, freq / s.factor, at::where(is_short, freq, mixed));
}

Rotation make_rotation(const RopeSpec& rope, int64_t tokens, at::Device device) {
  const at::NoGradGuard no_grad;
  const at::Tensor half_TD = at::outer(at::arange(tokens, at::kFloat), frequencies(rope));
  const at::Tensor angle_TD = at::cat({half_TD, half_TD}, -1);
  return {angle_TD.cos().to(device), angle_TD.sin().to(device)};
}

at::Tensor rotate(const at::Tensor& x_BHTD, const Rotation& rotation) {
  const auto halves = x_BHTD.chunk(2, -1);
  const at::Tensor along_BHTD = x_BHTD * rotation.cos;
  return along_BHTD + at::cat({-halves[1], halves[0]}, -1) * rotation.sin;
}

}  // namespace trainctl::model
