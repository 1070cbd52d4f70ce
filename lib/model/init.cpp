#include "model/init.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cmath>

#include "model/philox_normal.h"

namespace trainctl::model {
namespace {

uint64_t mix(uint64_t x) {  // SplitMix64's finaliser (Steele et al. 2014)
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

uint64_t stream_key(int64_t seed, const std::string& name) {
  uint64_t hash = 0xCBF29CE484222325ull;  // FNV-1a
  for (const unsigned char c : name) hash = (hash ^ c) * 0x100000001B3ull;
  return mix(hash ^ mix(static_cast<uint64_t>(seed) + 0x9E3779B97F4A7C15ull));
}

bool ends_with(const std::string& name, std::string_view end) {
  return std::string_view(name).ends_with(end);
}

}  // namespace

InitRule init_rule(const spec::ModelSpec& spec, const std::string& name, at::IntArrayRef shape) {
  if (shape.size() <= 1) {
    const bool is_one = !shape.empty() && (ends_with(name, "weight") || ends_with(name, "running_var"));
    return {.constant = is_one ? 1.0 : 0.0};
  }
  if (spec.family == spec::ModelFamily::kGpt2 || spec.family == spec::ModelFamily::kLlama) {
    const bool into_residual = ends_with(name, "c_proj.weight") || ends_with(name, "o_proj.weight") ||
                               ends_with(name, "down_proj.weight");
    return {.stddev =
                into_residual ? 0.02 / std::sqrt(2.0 * static_cast<double>(spec.num_layers.value())) : 0.02};
  }
  if (shape.size() == 4)
    return {.stddev = std::sqrt(2.0 / static_cast<double>(shape[0] * shape[2] * shape[3]))};
  return {.stddev = 1.0 / std::sqrt(static_cast<double>(shape[1]))};
}

void init_part(at::Tensor& part, const InitRule& rule, int64_t seed, const std::string& name, int64_t begin) {
  TORCH_CHECK(part.is_contiguous() && part.device().is_cpu(), "init_part: ", name,
              " is not contiguous on the CPU");
  if (rule.stddev == 0) {
    part.fill_(rule.constant);
    return;
  }
  float* const out = part.mutable_data_ptr<float>();
  const uint64_t key = stream_key(seed, name);
  const Isa isa = best_isa();
  // Threads share a page at their border at most; a chunk of 64 Ki elements is about 0.1 ms of work.
  at::parallel_for(0, part.numel(), /*grain_size=*/1 << 16, [&](int64_t from, int64_t to) {
    fill_normal(out + from, begin + from, to - from, key, static_cast<float>(rule.stddev), isa);
  });
}

}  // namespace trainctl::model
