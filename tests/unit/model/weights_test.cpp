// Weights from and to files.
#include "model/weights.h"

#include <ATen/ATen.h>
#include <stdlib.h>

#include <catch2/catch.hpp>
#include <functional>

#include "model/stored_dtype.h"
#include "spec/presets.h"
#include "storage/safetensors.h"
#include "support/temp_dir.h"
#include "util/diagnostic.h"

using namespace trainctl;
using namespace trainctl::model;
namespace fs = std::filesystem;

namespace {

struct Folder {
  test::TempDir dir;
  const fs::path& path = dir.path();
};

spec::ModelSpec tiny(const char* preset, const fs::path& init_from = {}) {
  spec::ModelSpec spec = spec::find_preset(preset).value();
  spec.init_from = init_from.string();
  return spec;
}

std::unique_ptr<Model> seeded(const spec::ModelSpec& spec, int64_t seed = 0) {
  auto model = make_model(spec);
  materialize(*model, spec, seed, at::kCPU);
  return model;
}

std::vector<NamedTensor> state(Model& model) {
  auto all = model.parameters();
  for (auto& buffer : model.buffers()) all.push_back(buffer);
  return all;
}

void write(const fs::path& path, const std::vector<NamedTensor>& named) {
  std::vector<storage::TensorInfo> infos;
  for (const auto& [name, tensor] : named)
    infos.push_back({name, stored_dtype(tensor.scalar_type()).value(), tensor.sizes().vec()});
  storage::SafetensorsWriter writer(path, infos, {});
  for (const size_t k : writer.order()) {
    const at::Tensor t = named[k].tensor.contiguous();
    writer.append({static_cast<const std::byte*>(t.const_data_ptr()), t.nbytes()});
  }
  writer.commit();
}

/// The errors of loading `named` as gpt2-tiny.
std::vector<std::string> errors_of(std::vector<NamedTensor> named, const Folder& folder) {
  const fs::path path = folder.path / "w.safetensors";
  write(path, named);
  const spec::ModelSpec spec = tiny("gpt2-tiny", path);
  const auto model = make_model(spec);
  try {
    load_weights(*model, spec, at::kCPU);
  } catch (const UserError& e) {
    std::vector<std::string> all;
    for (const Diagnostic& d : e.diagnostics()) all.push_back(d.what + " | " + d.help);
    return all;
  }
  return {};
}

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

}  // namespace

TEST_CASE("saved weights load into equal models of every family") {
  const Folder folder;
  for (const char* preset : {"gpt2-tiny", "llama-tiny", "resnet18-cifar", "mlp-toy"}) {
    INFO(preset);
    const fs::path path = folder.path / "w.safetensors";
    const auto saved = seeded(tiny(preset), 3);
    save_weights(*saved, path);
    const auto loaded = seeded(tiny(preset, path));
    const auto a = state(*saved), b = state(*loaded);
    REQUIRE(a.size() == b.size());
    for (size_t k = 0; k < a.size(); ++k) {
      CHECK(a[k].name == b[k].name);
      CHECK(a[k].tensor.equal(b[k].tensor));
    }
    CHECK(loaded->parameters()[0].tensor.requires_grad());
  }
}

TEST_CASE("a tied head is recorded and an untied model can start from it") {
  const Folder folder;
  const fs::path path = folder.path / "w.safetensors";
  save_weights(*seeded(tiny("gpt2-tiny"), 3), path);
  const storage::SafetensorsFile file(path);
  CHECK(file.metadata() == storage::Metadata{{"format", "pt"}, {"lm_head.weight", "transformer.wte.weight"}});
  CHECK(file.find("lm_head.weight") == nullptr);

  spec::ModelSpec untied = tiny("gpt2-tiny", path);
  untied.tied_embeddings = false;
  const auto model = seeded(untied);
  const auto parameters = model->parameters();
  CHECK(parameters.back().tensor.equal(parameters[0].tensor));
  CHECK_FALSE(parameters.back().tensor.is_alias_of(parameters[0].tensor));
}

TEST_CASE("narrower floats are cast to float32") {
  const Folder folder;
  auto named = state(*seeded(tiny("gpt2-tiny"), 3));
  for (auto& [name, tensor] : named) tensor = tensor.detach().to(at::kBFloat16);
  named[3].tensor = named[3].tensor.to(at::kDouble);
  named[4].tensor = named[4].tensor.to(at::kHalf);
  write(folder.path / "w.safetensors", named);
  const auto loaded = state(*seeded(tiny("gpt2-tiny", folder.path / "w.safetensors")));
  for (size_t k = 0; k < named.size(); ++k) {
    CHECK(loaded[k].tensor.scalar_type() == at::kFloat);
    CHECK(loaded[k].tensor.equal(named[k].tensor.to(at::kFloat)));
  }
}

TEST_CASE("names without the prefix and old masks and an equal stored head are accepted") {
  const Folder folder;
  auto named = state(*seeded(tiny("gpt2-tiny"), 3));
  for (auto& [name, tensor] : named) name = name.substr(std::string("transformer.").size());
  named.push_back({"h.0.attn.bias", at::ones({1, 1, 64, 64})});
  named.push_back({"h.1.attn.masked_bias", at::full({}, -1e4)});
  named.push_back({"lm_head.weight", named[0].tensor});
  write(folder.path / "w.safetensors", named);
  const spec::ModelSpec spec = tiny("gpt2-tiny", folder.path / "w.safetensors");
  const auto model = make_model(spec);
  const auto notes = load_weights(*model, spec, at::kCPU);
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes[0], StartsWith("passed over 2 constants"));
  CHECK(model->parameters()[0].tensor.equal(named[0].tensor));
}

TEST_CASE("a stored head that differs from the tied embedding is refused") {
  const Folder folder;
  auto named = state(*seeded(tiny("gpt2-tiny")));
  named.push_back({"lm_head.weight", named[0].tensor.detach() + 1});
  const auto errors = errors_of(named, folder);
  REQUIRE(errors.size() == 1);
  CHECK_THAT(errors[0], StartsWith("`lm_head.weight` differs from `transformer.wte.weight`"));
}

TEST_CASE("every name that is missing or unexpected or misshapen is listed at once") {
  const Folder folder;
  auto named = state(*seeded(tiny("gpt2-tiny")));
  named[0].name = "transformer.wte.wieght";
  named[1].tensor = at::zeros({65, 64});
  named[2].tensor = at::zeros({64}, at::kLong);
  const auto errors = errors_of(named, folder);
  REQUIRE(errors.size() == 4);
  CHECK(errors[0] == "`transformer.wte.weight` is missing | `transformer.wte.wieght` is near");
  CHECK(errors[1] ==
        "`transformer.wte.wieght` is not a tensor of the model | `transformer.wte.weight` is near");
  CHECK_THAT(errors[2], StartsWith("`transformer.h.0.ln_1.weight` is I64, which does not become Float"));
  CHECK_THAT(errors[3],
             StartsWith("`transformer.wpe.weight` has the shape [65, 64], the model's is [64, 64]"));
}
