#include <ATen/ATen.h>

#include "model/stored_dtype.h"
#include "model/weights.h"
#include "storage/safetensors.h"

namespace trainctl::model {

void save_weights(Model& model, const std::filesystem::path& path) {
  const at::NoGradGuard no_grad;
  std::vector<NamedTensor> named = model.parameters();
  for (NamedTensor& buffer : model.buffers()) named.push_back(std::move(buffer));

  std::vector<storage::TensorInfo> infos;
  for (const auto& [name, tensor] : named)
    infos.push_back(
        {.name = name, .dtype = stored_dtype(tensor.scalar_type()).value(), .shape = tensor.sizes().vec()});
  // "format" is what transformers asks for; a tied name points at the one that is stored, as safetensors' own
  // save_model() writes it.
  storage::Metadata metadata = {{"format", "pt"}};
  for (const auto& [alias, kept] : model.tied()) metadata[alias] = kept;

  storage::SafetensorsWriter writer(path, std::move(infos), metadata);
  for (const size_t k : writer.order()) {
    const at::Tensor host = named[k].tensor.to(at::kCPU).contiguous();
    writer.append({static_cast<const std::byte*>(host.const_data_ptr()), host.nbytes()});
  }
  writer.commit();
}

}  // namespace trainctl::model
