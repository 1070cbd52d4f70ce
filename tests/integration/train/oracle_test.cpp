// Against Python: PyTorch's fused optimizers and clipping, its loss scale, and TensorBoard's own reader.
#include <torch/types.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "optim/optimizer.h"
#include "precision/loss_scaler.h"
#include "train/tensorboard.h"

using namespace trainctl;  // NOLINT: a test
namespace fs = std::filesystem;

namespace {

std::string variable(const char* name, const std::string& otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

/// Runs a script beside this file with the oracle's Python and returns what it printed; ends the process with
/// 77, CTest's code for a skipped test, where there is no oracle.
std::string python(const std::string& script, const std::string& arguments) {
  const std::string source = variable("TRAINCTL_SOURCE_DIR", ".");
  const std::string oracle = variable("TRAINCTL_ORACLE", source + "/.deps/oracle/bin/python");
  if (!fs::exists(oracle)) {
    std::printf("SKIPPED: no Python with torch at %s (scripts/setup.sh --oracle)\n", oracle.c_str());
    std::exit(77);
  }
  const std::string command = oracle + " " + source + "/tests/integration/train/" + script + " " + arguments;
  FILE* const pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  std::array<char, 4096> part;
  while (const size_t n = fread(part.data(), 1, part.size(), pipe)) text.append(part.data(), n);
  REQUIRE(pclose(pipe) == 0);
  return text;
}

fs::path temp(const std::string& name) {
  return fs::temp_directory_path() / (name + "." + std::to_string(getpid()));
}

/// value() of optimizer_oracle.py.
at::Tensor value(int64_t p, int64_t s, std::vector<int64_t> shape) {
  const at::Tensor k = torch::arange(c10::multiply_integers(shape));
  const at::Tensor x = (k * 7919 + p * 104729 + s * 1299709).remainder(2003);
  return (x.to(torch::kFloat32) / torch::tensor(1001.5f) - 1).reshape(shape);
}

at::Tensor our_steps(spec::OptimizerSpec spec) {
  spec.weight_decay = 0.1;
  const std::vector<std::vector<int64_t>> shapes{{40, 30}, {77}};
  std::vector<optim::Parameter> parameters;
  for (int64_t p = 0; p < 2; ++p) {
    parameters.push_back({"p" + std::to_string(p), value(p, 0, shapes[p]).requires_grad_(true)});
  }
  const auto optimizer = optim::make_optimizer(spec, parameters);
  for (int64_t s = 1; s <= 7; ++s) {
    optimizer->set_lr(1e-3 * static_cast<double>(s));
    optimizer->zero_grad();
    for (int64_t p = 0; p < 2; ++p) parameters[p].tensor.mutable_grad() = value(p, s, shapes[p]);
    optim::clip_gradients(parameters, optim::gradient_norm(parameters), 1.0);
    optimizer->step(torch::zeros({}));
  }
  return torch::cat({parameters[0].tensor.detach().flatten(), parameters[1].tensor.detach().flatten()});
}

at::Tensor torch_steps(const std::string& kind) {
  const fs::path out = temp("optimizer_oracle");
  python("optimizer_oracle.py", kind + " " + out.string());
  std::ifstream file(out, std::ios::binary);
  at::Tensor values = torch::empty({40 * 30 + 77});
  file.read(static_cast<char*>(values.data_ptr()), static_cast<std::streamsize>(values.nbytes()));
  REQUIRE(file.good());
  fs::remove(out);
  return values;
}

}  // namespace

TEST_CASE("clipped AdamW steps equal torch.optim's to the bit", "[oracle]") {
  CHECK(torch::equal(our_steps({.kind = spec::OptimizerKind::kAdamW, .beta1 = 0.9, .beta2 = 0.95}),
                     torch_steps("adamw")));
}

TEST_CASE("clipped SGD steps with momentum equal torch.optim's to the bit", "[oracle]") {
  CHECK(torch::equal(our_steps({.kind = spec::OptimizerKind::kSgd, .momentum = 0.9}), torch_steps("sgd")));
  CHECK(torch::equal(our_steps({.kind = spec::OptimizerKind::kSgd, .momentum = 0.9, .nesterov = true}),
                     torch_steps("nesterov")));
}

TEST_CASE("the loss scale follows GradScaler's", "[oracle]") {
  const std::string flags = "1100011000000100010000";
  std::string ours;
  // 1000: no power of two, so dividing rounds; 3e38: doubling would overflow float32, and is not done.
  for (const double scale : {65536.0, 1000.0, 3e38}) {
    precision::LossScaler scaler(
        {.compute = spec::ComputeDtype::kFp16, .loss_scale = scale, .loss_scale_window = 3}, at::kCPU);
    for (const char flag : flags) {
      const at::Tensor gradient = torch::full({1}, flag == '1' ? INFINITY : 1.0f);
      scaler.unscale({gradient});
      scaler.update(torch::full({}, flag == '1' ? 1.0f : 0.0f));
      std::array<char, 99> line{};
      std::snprintf(line.data(), line.size(), "%.9g %d %.9g\n", scaler.value().item<float>(),
                    scaler.steps_since_change().item<int>(), gradient.item<float>());
      ours += line.data();
    }
  }
  CHECK(ours == python("scaler_oracle.py", "3 " + flags + " 65536 1000 3e38"));
}

TEST_CASE("TensorBoard reads our event files", "[oracle]") {
  const fs::path dir = temp("events");
  {
    train::EventWriter writer(dir);
    writer.write(0, 1700000000.5, {{"train/loss", 5.25}, {"train/lr", 1e-3}});
    writer.write(300, 1700000001.5, {{"train/loss", 2.5}});
    writer.flush();
  }
  CHECK(python("read_events.py", dir.string()) ==
        "train/loss 0 5.25\ntrain/loss 300 2.5\ntrain/lr 0 0.001\n");
  fs::remove_all(dir);
}
