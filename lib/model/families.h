// families.h: one maker per family, and the table that make_model() and the files of weights (weights.h) use.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "model/model.h"

namespace trainctl::model {

std::unique_ptr<Model> make_mlp(const spec::ModelSpec& spec);
std::unique_ptr<Model> make_gpt2(const spec::ModelSpec& spec);
std::unique_ptr<Model> make_llama(const spec::ModelSpec& spec);
std::unique_ptr<Model> make_resnet(const spec::ModelSpec& spec);

struct Family {
  spec::ModelFamily family;
  std::unique_ptr<Model> (*make)(const spec::ModelSpec&);
  std::string_view base_prefix;  // files of weights may leave it out ("transformer.", "model.")
  std::vector<std::string_view> ignored_suffixes;  // constants that old files carry beside the weights
};

/// The row of `spec.family`.  Throws std::logic_error where the family is not set (the spec is not resolved).
const Family& family_of(const spec::ModelSpec& spec);

}  // namespace trainctl::model
