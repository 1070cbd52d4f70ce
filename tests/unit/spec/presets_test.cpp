#include "spec/presets.h"

#include <catch2/catch.hpp>
#include <map>

#include "job_text.h"

using namespace trainctl::spec;  // NOLINT: the tests speak the namespace's words

namespace {

// Parameters of a model by the shapes of its tensors, to check sizes against published counts.
int64_t parameters_of(const ModelSpec& m) {
  const int64_t L = *m.num_layers, D = *m.dim, F = *m.ffn_dim, V = *m.vocab_size;
  const int64_t head = *m.tied_embeddings ? 0 : V * D;
  if (m.family == ModelFamily::kGpt2) {
    const int64_t block = 4 * D + (D * 3 * D + 3 * D) + (D * D + D) + (D * F + F) + (F * D + D);
    return V * D + *m.max_seq_len * D + L * block + 2 * D + head;
  }
  const int64_t kv = D / *m.num_heads * *m.num_kv_heads;
  return V * D + L * (2 * D + 2 * D * D + 2 * D * kv + 3 * D * F) + D + head;
}

}  // namespace

TEST_CASE("presets have the sizes of the released models", "[spec]") {
  // Published parameter counts: GPT-2's checkpoints; Llama 3's 8B and 70B; the tests' own models (12.3
  // and 12.6 M).
  const std::map<std::string, int64_t> published = {
      {"gpt2-124m", 124'439'808},     {"gpt2-355m", 354'823'168},   {"gpt2-774m", 774'030'080},
      {"gpt2-1558m", 1'557'611'200},  {"llama3-8b", 8'030'261'248}, {"llama3.1-8b", 8'030'261'248},
      {"llama3-70b", 70'553'706'496}, {"llama-1b", 1'498'482'688},
  };
  for (const auto& [name, count] : published) {
    CAPTURE(name);
    CHECK(parameters_of(*find_preset(name)) == count);
  }
  CHECK(find_preset("llama3.1-8b")->rope_scaling == RopeScaling::kLlama31);
  CHECK(find_preset("llama3.1-8b")->rope_factor == 8.0);
  CHECK(find_preset("llama3.1-8b")->rope_original_max_seq_len == 8192);
  CHECK(find_preset("llama3-8b")->rope_theta == 500000.0);
  CHECK_FALSE(find_preset("gpt3").has_value());
}

TEST_CASE("every preset makes a whole job", "[spec]") {
  REQUIRE(preset_names().size() == 16);
  for (const std::string& name : preset_names()) {
    CAPTURE(name);
    const LoadedJob job = load_text("model: {preset: " + name + "}\n");
    CHECK(to_string(job.origins.at("model.family")) == "preset " + name);
  }
}

TEST_CASE("keys of the file win over the preset's and derived keys follow", "[spec]") {
  const ModelSpec m = load_text("model: {preset: gpt2-tiny, dim: 128}\n").spec.model;
  CHECK(m.dim == 128);
  CHECK(m.ffn_dim == 512);
  CHECK(m.num_layers == 2);
  const ModelSpec plain = load_text("model: {preset: llama3.1-8b, rope_scaling: none}\n").spec.model;
  CHECK_FALSE(plain.rope_factor.has_value());
  const ModelSpec stretched =
      load_text("model: {preset: llama-tiny, rope_scaling: llama3.1, rope_factor: 4}\n").spec.model;
  CHECK(stretched.rope_factor == 4.0);
  CHECK(stretched.rope_original_max_seq_len == 8192);
}

TEST_CASE("a preset or family that cannot be is refused", "[spec]") {
  CHECK(has(errors_of("model: {preset: gpt2-124}\n"), "did you mean `gpt2-124m`?"));
  CHECK(has(errors_of("model: {preset: gpt2-tiny, family: llama}\n"),
            "`model.family` contradicts the preset gpt2-tiny"));
  CHECK(num_errors("model: {preset: gpt2-tiny, family: llama}\n") == 1);
  CHECK(has(errors_of("seed: 1\n"), "the job names no model"));
  const std::string errors = errors_of("model: {family: llama, dim: 64}\n");
  for (const char* key : {"num_layers", "num_heads", "ffn_dim", "vocab_size", "max_seq_len"}) {
    CHECK(has(errors, std::string("`model.") + key + "` is missing; a llama model needs it"));
  }
}
