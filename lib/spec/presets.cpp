// Sizes are those of the released models: GPT-2 (Radford et al. 2019; 124m to 1558m), Llama 3 and 3.1
// (config.json of the 8B and 70B models), ResNet (He et al. 2015).  llama-1b is Llama 3.2's shape with an
// untied head and no RoPE scaling.  The tiny and 30m ones are for tests and benchmarks; "30m" is a label
// (they have 12 M parameters).
#include "spec/presets.h"

#include <algorithm>

namespace trainctl::spec {

namespace {

struct Transformer {
  int64_t num_layers, dim, num_heads, vocab_size, max_seq_len;
};

ModelSpec gpt2(const Transformer& t) {
  ModelSpec m;
  m.family = ModelFamily::kGpt2;
  m.num_layers = t.num_layers;
  m.dim = t.dim;
  m.num_heads = t.num_heads;
  m.vocab_size = t.vocab_size;
  m.max_seq_len = t.max_seq_len;
  return m;
}

ModelSpec llama(const Transformer& t, int64_t num_kv_heads, int64_t ffn_dim, double rope_theta,
                RopeScaling scaling = RopeScaling::kNone) {
  ModelSpec m = gpt2(t);
  m.family = ModelFamily::kLlama;
  m.num_kv_heads = num_kv_heads;
  m.ffn_dim = ffn_dim;
  m.rope_theta = rope_theta;
  m.rope_scaling = scaling;
  if (scaling == RopeScaling::kLlama31) {
    m.rope_factor = 8.0;
    m.rope_low_freq_factor = 1.0;
    m.rope_high_freq_factor = 4.0;
    m.rope_original_max_seq_len = 8192;
  }
  return m;
}

ModelSpec resnet(int64_t depth, int64_t num_classes, int64_t image_size, bool cifar_stem) {
  ModelSpec m;
  m.family = ModelFamily::kResnet;
  m.depth = depth;
  m.num_classes = num_classes;
  m.image_size = image_size;
  m.cifar_stem = cifar_stem;
  return m;
}

ModelSpec mlp(std::vector<int64_t> layer_sizes) {
  ModelSpec m;
  m.family = ModelFamily::kMlp;
  m.layer_sizes = std::move(layer_sizes);
  return m;
}

struct Preset {
  std::string_view name;
  ModelSpec (*make)();
};

// clang-format off
constexpr Preset kPresets[] = {
    //                                        layers  dim heads  vocab     seq    kv    ffn   theta
    {"gpt2-tiny",      [] { return gpt2 ({      2,    64,    4,    256,     64}); }},
    {"gpt2-30m",       [] { return gpt2 ({      6,   384,    6,   4096,    256}); }},
    {"gpt2-124m",      [] { return gpt2 ({     12,   768,   12,  50257,   1024}); }},
    {"gpt2-355m",      [] { return gpt2 ({     24,  1024,   16,  50257,   1024}); }},
    {"gpt2-774m",      [] { return gpt2 ({     36,  1280,   20,  50257,   1024}); }},
    {"gpt2-1558m",     [] { return gpt2 ({     48,  1600,   25,  50257,   1024}); }},
    {"llama-tiny",     [] { return llama({      2,    64,    4,    256,     64},  2,   172,  10000); }},
    {"llama-30m",      [] { return llama({      6,   384,    6,   4096,    256},  2,  1024,  10000); }},
    {"llama-1b",       [] { return llama({     16,  2048,   32, 128256,   2048},  8,  8192, 500000); }},
    {"llama3-8b",      [] { return llama({     32,  4096,   32, 128256,   8192},  8, 14336, 500000); }},
    {"llama3-70b",     [] { return llama({     80,  8192,   64, 128256,   8192},  8, 28672, 500000); }},
    {"llama3.1-8b",    [] { return llama({     32,  4096,   32, 128256, 131072},  8, 14336, 500000, RopeScaling::kLlama31); }},
    {"resnet18",       [] { return resnet(18, 1000, 224, false); }},
    {"resnet18-cifar", [] { return resnet(18, 10, 32, true); }},
    {"resnet50",       [] { return resnet(50, 1000, 224, false); }},
    {"mlp-toy",        [] { return mlp({64, 256, 256, 10}); }},
};
// clang-format on

template <class T>
void fill(std::optional<T>& key, T value) {
  if (!key) key = value;
}

}  // namespace

void fill_model_defaults(ModelSpec& m) {
  if (m.family == ModelFamily::kGpt2) {
    if (m.dim) fill(m.ffn_dim, 4 * *m.dim);
    fill(m.tied_embeddings, true);
    fill(m.norm_eps, 1e-5);
    fill(m.dropout, 0.0);
  } else if (m.family == ModelFamily::kLlama) {
    if (m.num_heads) fill(m.num_kv_heads, *m.num_heads);
    fill(m.tied_embeddings, false);
    fill(m.norm_eps, 1e-5);
    fill(m.rope_theta, 10000.0);
    fill(m.rope_scaling, RopeScaling::kNone);
    if (m.rope_scaling == RopeScaling::kLlama31) {
      fill(m.rope_factor, 8.0);
      fill(m.rope_low_freq_factor, 1.0);
      fill(m.rope_high_freq_factor, 4.0);
      fill(m.rope_original_max_seq_len, int64_t{8192});
    }
  } else if (m.family == ModelFamily::kResnet) {
    fill(m.cifar_stem, false);
    fill(m.image_size, int64_t{*m.cifar_stem ? 32 : 224});
  }
}

std::optional<ModelSpec> find_preset(std::string_view name) {
  auto model = preset_keys(name);
  if (model) fill_model_defaults(*model);
  return model;
}

std::optional<ModelSpec> preset_keys(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kPresets), std::end(kPresets), [&](const Preset& p) { return p.name == name; });
  if (found == std::end(kPresets)) return std::nullopt;
  ModelSpec model = found->make();
  model.preset = name;
  return model;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

}  // namespace trainctl::spec
