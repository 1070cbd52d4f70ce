#include "model/families.h"

#include <stdexcept>

namespace trainctl::model {

const Family& family_of(const spec::ModelSpec& spec) {
  static const std::vector<Family> kFamilies = {
      {spec::ModelFamily::kMlp, make_mlp, "", {}},
      {spec::ModelFamily::kGpt2, make_gpt2, "transformer.", {".attn.bias", ".attn.masked_bias"}},
      {spec::ModelFamily::kLlama, make_llama, "model.", {".rotary_emb.inv_freq"}},
      {spec::ModelFamily::kResnet, make_resnet, "", {}},
  };
  for (const Family& row : kFamilies)
    if (spec.family == row.family) return row;
  throw std::logic_error("model: the spec is not resolved, it has no family");
}

std::unique_ptr<Model> make_model(const spec::ModelSpec& spec) { return family_of(spec).make(spec); }

}  // namespace trainctl::model
