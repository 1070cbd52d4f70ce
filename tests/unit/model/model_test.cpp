// Models on the meta device: names, sizes, FLOPs; and forward passes of the tiny ones.
#include "model/model.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>

#include "spec/presets.h"

using namespace trainctl;
using namespace trainctl::model;

namespace {

spec::ModelSpec preset(const char* name) { return spec::find_preset(name).value(); }

int64_t num_parameters(Model& model) {
  int64_t sum = 0;
  for (const auto& parameter : model.parameters()) sum += parameter.tensor.numel();
  return sum;
}

int64_t resident_kib() {
  std::ifstream file("/proc/self/statm");
  int64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * 4;
}

std::unique_ptr<Model> real(const spec::ModelSpec& spec) {
  auto model = make_model(spec);
  materialize(*model, spec, 0, at::kCPU);
  return model;
}

}  // namespace

TEST_CASE("every preset has the published number of parameters") {
  const std::pair<const char*, int64_t> kPublished[] = {
      {"gpt2-124m", 124'439'808},     {"gpt2-355m", 354'823'168},   {"gpt2-774m", 774'030'080},
      {"gpt2-1558m", 1'557'611'200},  {"llama3-8b", 8'030'261'248}, {"llama3-70b", 70'553'706'496},
      {"llama3.1-8b", 8'030'261'248}, {"resnet18", 11'689'512},     {"resnet50", 25'557'032},
      {"resnet18-cifar", 11'173'962},
  };
  for (const auto& [name, count] : kPublished) {
    INFO(name);
    CHECK(num_parameters(*make_model(preset(name))) == count);
  }
}

TEST_CASE("the 70 billion parameters of llama3-70b cost no memory on the meta device") {
  make_model(preset("llama-tiny"));  // LibTorch's own first allocations
  const int64_t before = resident_kib();
  const auto start = std::chrono::steady_clock::now();
  const auto model = make_model(preset("llama3-70b"));
  const double ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  CHECK(model->parameters().size() == 723);
  CHECK(ms < 50);
  CHECK(resident_kib() - before < 8 * 1024);  // 723 tensors of a few hundred bytes; the weights are 282 GB
}

TEST_CASE("parameters stand in the order of Python's named_parameters") {
  const auto names = [](const char* name) {
    std::vector<std::string> all;
    for (const auto& parameter : make_model(preset(name))->parameters()) all.push_back(parameter.name);
    return all;
  };
  const auto gpt2 = names("gpt2-tiny");
  REQUIRE(gpt2.size() == 2 + 2 * 12 + 2);
  CHECK(std::vector<std::string>(gpt2.begin(), gpt2.begin() + 6) ==
        std::vector<std::string>{"transformer.wte.weight", "transformer.wpe.weight",
                                 "transformer.h.0.ln_1.weight", "transformer.h.0.ln_1.bias",
                                 "transformer.h.0.attn.c_attn.weight", "transformer.h.0.attn.c_attn.bias"});
  CHECK(gpt2.back() == "transformer.ln_f.bias");
  CHECK(names("llama-tiny").back() == "lm_head.weight");
  const auto resnet = names("resnet18");
  CHECK(resnet[0] == "conv1.weight");
  CHECK(std::find(resnet.begin(), resnet.end(), "layer2.0.downsample.1.bias") != resnet.end());
}

TEST_CASE("FLOPs of a sample follow the stated formula") {
  // gpt2-124m: 6 x (12 blocks x 12 x 768^2 + 768 x 50257) a token, and 12 x 12 layers x 768 x T.
  const double weights = 12.0 * 12 * 768 * 768 + 768.0 * 50257;
  CHECK(make_model(preset("gpt2-124m"))->flops_per_sample(1024) ==
        1024 * (6 * weights + 12.0 * 12 * 768 * 1024));
  // llama3-8b: q and o 4096^2, k and v 4096 x 1024, three of 4096 x 14336, head 4096 x 128256.
  const double llama = 32.0 * (2 * 4096.0 * 4096 + 2 * 4096.0 * 1024 + 3 * 4096.0 * 14336) + 4096.0 * 128256;
  CHECK(make_model(preset("llama3-8b"))->flops_per_sample(8192) ==
        8192 * (6 * llama + 12.0 * 32 * 4096 * 8192));
  CHECK(make_model(preset("mlp-toy"))->flops_per_sample(1) == 6.0 * (64 * 256 + 256 * 256 + 256 * 10));
  // torchvision states 1.814 and 4.089 GFLOPs (multiply-adds) for one 224 x 224 image, forward only.
  CHECK(make_model(preset("resnet18"))->flops_per_sample(1) / 6 == Approx(1.814e9).epsilon(1e-3));
  CHECK(make_model(preset("resnet50"))->flops_per_sample(1) / 6 == Approx(4.089e9).epsilon(1e-3));
}

TEST_CASE("a causal model does not see what comes later") {
  for (const char* name : {"gpt2-tiny", "llama-tiny"}) {
    INFO(name);
    const at::NoGradGuard no_grad;
    const auto model = real(preset(name));
    model->train(false);
    const at::Tensor tokens = at::randint(256, {2, 32}, at::kLong);
    at::Tensor changed = tokens.clone();
    changed.narrow(1, 20, 12).fill_(7);
    const at::Tensor a = model->forward(tokens), b = model->forward(changed);
    REQUIRE(a.sizes() == at::IntArrayRef({2, 32, 256}));
    CHECK(a.narrow(1, 0, 20).equal(b.narrow(1, 0, 20)));
    CHECK_FALSE(a.narrow(1, 20, 12).equal(b.narrow(1, 20, 12)));
    // A shorter text alone: its positions' angles and embeddings are the same, its matmuls are of another
    // size (2e-6).
    CHECK(at::allclose(model->forward(tokens.narrow(1, 0, 9)), a.narrow(1, 0, 9), 1e-5, 2e-6));
  }
}

TEST_CASE("dropout acts in training only") {
  spec::ModelSpec spec = preset("gpt2-tiny");
  spec.dropout = 0.2;
  const auto model = real(spec);
  const at::Tensor tokens = at::randint(256, {1, 8}, at::kLong);
  CHECK_FALSE(model->forward(tokens).equal(model->forward(tokens)));
  model->train(false);
  CHECK(model->forward(tokens).equal(model->forward(tokens)));
}

TEST_CASE("an untied head is a parameter of its own and a tied one is named") {
  spec::ModelSpec spec = preset("gpt2-tiny");
  CHECK(make_model(spec)->tied() ==
        std::vector<std::pair<std::string, std::string>>{{"lm_head.weight", "transformer.wte.weight"}});
  spec.tied_embeddings = false;
  const auto model = make_model(spec);
  CHECK(model->tied().empty());
  CHECK(model->parameters().back().name == "lm_head.weight");
}

TEST_CASE("batch norm keeps its statistics as buffers and counts batches") {
  const auto model = real(preset("resnet18-cifar"));
  const at::Tensor images = at::rand({4, 3, 32, 32});
  CHECK(model->forward(images).sizes() == at::IntArrayRef({4, 10}));
  for (const auto& [name, tensor] : model->buffers()) {
    if (name.ends_with("num_batches_tracked")) CHECK(tensor.item<int64_t>() == 1);
    if (name == "bn1.running_mean") CHECK(tensor.abs().max().item<double>() > 0);
  }
  model->train(false);
  model->forward(images);
  CHECK(model->buffers()[2].tensor.item<int64_t>() == 1);
}

TEST_CASE("set_tensors refuses another number or shape") {
  const auto model = make_model(preset("mlp-toy"));
  CHECK_THROWS(model->set_tensors({}, {}));
  std::vector<at::Tensor> wrong;
  for (const auto& parameter : model->parameters()) wrong.push_back(at::zeros(parameter.tensor.sizes()));
  wrong[0] = at::zeros({64, 256});
  CHECK_THROWS(model->set_tensors(wrong, {}));
}
