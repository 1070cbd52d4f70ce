// weights.h: a model's tensors from and to files: safetensors with Hugging Face's (resnet: torchvision's)
// names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "model/model.h"

namespace trainctl::model {

/// Fills a meta model from spec.init_from: a .safetensors file, a model.safetensors.index.json, or a folder
/// that holds either.  Floating-point tensors of any width are cast to float32.  Every name that is missing,
/// unexpected or of another shape is listed in one UserError.
///   tied heads       a stored lm_head.weight is accepted where it equals the embedding
///   base models      names may lack the prefix "transformer." (gpt2) or "model." (llama)
///   old constants    gpt2's causal masks (attn.bias) and llama's inv_freq are passed over
/// Returns one line for each thing that was passed over, for the log.
std::vector<std::string> load_weights(Model& model, const spec::ModelSpec& spec, at::Device device);

/// Writes parameters and buffers to `path` (metadata: "format": "pt", and each tied name with the name it
/// shares). One tensor at a time is copied from the device.  Replaces the file only when all is on disk.
void save_weights(Model& model, const std::filesystem::path& path);

/// Writes config.json into `folder`, which with model.safetensors there makes a folder for Hugging Face's
/// from_pretrained.  Families that transformers has no causal model of (mlp, resnet) get none.
void save_config(const spec::ModelSpec& spec, const std::filesystem::path& folder);

}  // namespace trainctl::model
