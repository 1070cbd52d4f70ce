#include <ATen/ATen.h>
#include <spdlog/spdlog.h>

#include "model/init.h"
#include "model/weights.h"

namespace trainctl::model {
namespace {

std::vector<at::Tensor> initial(const std::vector<NamedTensor>& named, const spec::ModelSpec& spec,
                                int64_t seed, at::Device device) {
  std::vector<at::Tensor> made;
  made.reserve(named.size());
  for (const auto& [name, meta] : named) {
    at::Tensor value = at::empty(meta.sizes(), meta.options().device(at::kCPU));
    init_part(value, init_rule(spec, name, meta.sizes()), seed, name, /*begin=*/0);
    made.push_back(value.to(device));
  }
  return made;
}

}  // namespace

void materialize(Model& model, const spec::ModelSpec& spec, int64_t seed, at::Device device) {
  const at::NoGradGuard no_grad;
  if (!spec.init_from.empty()) {
    for (const std::string& note : load_weights(model, spec, device)) spdlog::info("{}", note);
    return;
  }
  model.set_tensors(initial(model.parameters(), spec, seed, device),
                    initial(model.buffers(), spec, seed, device));
}

}  // namespace trainctl::model
