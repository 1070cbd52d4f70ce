// config.json as transformers writes it for its GPT2LMHeadModel and LlamaForCausalLM.
#include <nlohmann/json.hpp>

#include "model/weights.h"
#include "util/atomic_file.h"

namespace trainctl::model {
namespace {

using Json = nlohmann::ordered_json;

Json gpt2_config(const spec::ModelSpec& s) {
  const double dropout = s.dropout.value_or(0.0);
  return {{"architectures", {"GPT2LMHeadModel"}},
          {"model_type", "gpt2"},
          {"activation_function", "gelu_new"},
          {"vocab_size", s.vocab_size.value()},
          {"n_positions", s.max_seq_len.value()},
          {"n_embd", s.dim.value()},
          {"n_layer", s.num_layers.value()},
          {"n_head", s.num_heads.value()},
          {"n_inner", s.ffn_dim.value_or(4 * s.dim.value())},
          {"layer_norm_epsilon", s.norm_eps.value_or(1e-5)},
          {"embd_pdrop", dropout},
          {"attn_pdrop", dropout},
          {"resid_pdrop", dropout},
          {"tie_word_embeddings", s.tied_embeddings.value_or(true)}};
}

/// Llama 3.1's scaling, or the plain form, both with theta: transformers 5 reads this under
/// "rope_parameters".
Json rope_parameters(const spec::ModelSpec& s) {
  Json rope = {{"rope_theta", s.rope_theta.value_or(10000.0)}, {"rope_type", "default"}};
  if (s.rope_scaling == spec::RopeScaling::kLlama31)
    rope.update({{"rope_type", "llama3"},
                 {"factor", s.rope_factor.value()},
                 {"low_freq_factor", s.rope_low_freq_factor.value()},
                 {"high_freq_factor", s.rope_high_freq_factor.value()},
                 {"original_max_position_embeddings", s.rope_original_max_seq_len.value()}});
  return rope;
}

Json llama_config(const spec::ModelSpec& s) {
  const int64_t heads = s.num_heads.value();
  Json rope = rope_parameters(s);
  Json config = {{"architectures", {"LlamaForCausalLM"}},
                 {"model_type", "llama"},
                 {"hidden_act", "silu"},
                 {"attention_bias", false},
                 {"mlp_bias", false},
                 {"vocab_size", s.vocab_size.value()},
                 {"max_position_embeddings", s.max_seq_len.value()},
                 {"hidden_size", s.dim.value()},
                 {"intermediate_size", s.ffn_dim.value()},
                 {"num_hidden_layers", s.num_layers.value()},
                 {"num_attention_heads", heads},
                 {"num_key_value_heads", s.num_kv_heads.value_or(heads)},
                 {"head_dim", s.dim.value() / heads},
                 {"rms_norm_eps", s.norm_eps.value_or(1e-5)},
                 {"attention_dropout", s.dropout.value_or(0.0)},
                 {"tie_word_embeddings", s.tied_embeddings.value_or(false)},
                 {"rope_parameters", rope},
                 {"rope_theta", rope["rope_theta"]}};
  // transformers 4 reads rope_theta above and the scaling here.
  config["rope_scaling"] = rope["rope_type"] == "default" ? Json(nullptr) : rope;
  return config;
}

}  // namespace

void save_config(const spec::ModelSpec& spec, const std::filesystem::path& folder) {
  Json config;
  if (spec.family == spec::ModelFamily::kGpt2) config = gpt2_config(spec);
  if (spec.family == spec::ModelFamily::kLlama) config = llama_config(spec);
  if (config.is_null()) return;
  config["dtype"] = "float32";
  config["bos_token_id"] = nullptr;  // the tokenizer's business
  config["eos_token_id"] = nullptr;
  write_file_atomically(folder / "config.json", config.dump(2) + "\n");
}

}  // namespace trainctl::model
