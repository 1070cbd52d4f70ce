// presets.h: models by name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/job_spec.h"

namespace trainctl::spec {

/// The model `name` with every key of its family, or nullopt where there is none of that name.
std::optional<ModelSpec> find_preset(std::string_view name);

/// Only what the preset itself says: keys that follow from others (gpt2's ffn_dim = 4 dim) stay empty, so
/// that they follow where a file changes one of those.
std::optional<ModelSpec> preset_keys(std::string_view name);

/// Fills the keys of the family that follow from others or have a usual value; sizes without one stay empty.
void fill_model_defaults(ModelSpec& model);

std::vector<std::string> preset_names();

}  // namespace trainctl::spec
