// model_probe SPEC.json INPUT.safetensors OUT: runs one of our models once, for check_engine_models.py.
//
// SPEC.json   {"preset": NAME, other keys of `model`..., "bf16": bool, "train": bool, "seed": int}
// INPUT       x (tokens int64, or features float32), y (targets int64)
// OUT/        probe.safetensors: logits, grad.<parameter>, buffer.<buffer>; before the run the weights are
// saved as
//             OUT/model.safetensors with OUT/config.json
#include <torch/types.h>
#include <torch/utils.h>

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "model/model.h"
#include "model/stored_dtype.h"
#include "model/weights.h"
#include "precision/compute_scope.h"
#include "spec/presets.h"
#include "storage/safetensors.h"

using namespace trainctl;
using Json = nlohmann::json;

namespace {

template <class T>
void read(const Json& json, const char* key, std::optional<T>& value) {
  if (json.contains(key)) value = json[key].get<T>();
}

spec::ModelSpec read_spec(const Json& json) {
  spec::ModelSpec s = spec::find_preset(json.at("preset").get<std::string>()).value();
  read(json, "num_layers", s.num_layers), read(json, "dim", s.dim), read(json, "num_heads", s.num_heads);
  read(json, "num_kv_heads", s.num_kv_heads), read(json, "ffn_dim", s.ffn_dim);
  read(json, "vocab_size", s.vocab_size), read(json, "max_seq_len", s.max_seq_len);
  read(json, "tied_embeddings", s.tied_embeddings), read(json, "dropout", s.dropout);
  read(json, "rope_original_max_seq_len", s.rope_original_max_seq_len);
  read(json, "num_classes", s.num_classes), read(json, "image_size", s.image_size);
  s.init_from = json.value("init_from", "");
  return s;
}

at::Tensor tensor_of(const storage::SafetensorsFile& file, const char* name) {
  const storage::StoredTensor& t = *file.find(name);
  return at::from_blob(const_cast<std::byte*>(t.bytes.data()), t.shape, model::scalar_type(t.dtype).value())
      .clone();
}

void write(const std::string& path, const std::vector<model::NamedTensor>& named) {
  std::vector<storage::TensorInfo> infos;
  for (const auto& [name, tensor] : named)
    infos.push_back({name, model::stored_dtype(tensor.scalar_type()).value(), tensor.sizes().vec()});
  storage::SafetensorsWriter writer(path, infos, {});
  for (const size_t k : writer.order()) {
    const at::Tensor t = named[k].tensor.contiguous();
    writer.append({static_cast<const std::byte*>(t.const_data_ptr()), t.nbytes()});
  }
  writer.commit();
}

void probe(const Json& json, const std::string& input, const std::string& out) {
  const spec::ModelSpec spec = read_spec(json);
  const auto model = model::make_model(spec);
  model::materialize(*model, spec, json.value("seed", 0), at::kCPU);
  model::save_weights(*model, out + "/model.safetensors");
  model::save_config(spec, out);

  const storage::SafetensorsFile file(input);
  const at::Tensor x = tensor_of(file, "x"), y = tensor_of(file, "y");
  model->train(json.value("train", true));
  at::manual_seed(json.value("seed", 0));
  at::Tensor logits;
  {
    const precision::ComputeScope scope(
        json.value("bf16", false) ? spec::ComputeDtype::kBf16 : spec::ComputeDtype::kFp32, at::kCPU);
    logits = model->forward(x);
  }
  at::cross_entropy_loss(logits.to(at::kFloat).view({-1, logits.size(-1)}), y.view(-1)).backward();

  std::vector<model::NamedTensor> results = {{"logits", logits.detach().to(at::kFloat)}};
  for (const auto& [name, tensor] : model->parameters()) results.push_back({"grad." + name, tensor.grad()});
  for (const auto& [name, tensor] : model->buffers()) results.push_back({"buffer." + name, tensor});
  write(out + "/probe.safetensors", results);
  for (const auto& [name, tensor] : model->parameters()) std::cout << name << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "model_probe SPEC.json INPUT.safetensors OUT\n";
    return 2;
  }
  at::set_num_threads(1);
  try {
    probe(Json::parse(std::ifstream(argv[1])), argv[2], argv[3]);
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
