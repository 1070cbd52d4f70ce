#include "train/generate.h"

#include <fmt/format.h>
#include <torch/types.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/text_files.h"
#include "model/weights.h"
#include "spec/load.h"
#include "tokenizer/utf8.h"
#include "train/worker.h"
#include "util/diagnostic.h"

namespace trainctl::train {
namespace {

namespace fs = std::filesystem;

// V vocabulary, T positions.
int64_t draw(const at::Tensor& logits_V, const Sampling& sampling, at::Generator& generator) {
  if (sampling.temperature == 0) return logits_V.argmax().item<int64_t>();
  at::Tensor scaled_V = logits_V / sampling.temperature;
  const int64_t num_classes = scaled_V.numel();
  if (sampling.top_k > 0 && sampling.top_k < num_classes) {
    const at::Tensor least = std::get<0>(scaled_V.topk(sampling.top_k))[-1];
    scaled_V = scaled_V.masked_fill(scaled_V < least, -INFINITY);
  }
  return at::multinomial(scaled_V.softmax(-1), 1, /*replacement=*/false, generator).item<int64_t>();
}

/// A finished run: <run>/spec.yaml and <run>/model.safetensors, also found from <run>/trials/<name>.
struct FinishedRun {
  fs::path spec, weights;
};

FinishedRun find_run(const fs::path& dir) {
  if (!fs::is_directory(dir)) {
    throw UserError(fmt::format("there is no run folder {}", dir.string()),
                    "runs lie in `run_dir`, or runs/<name>");
  }
  const fs::path absolute = fs::absolute(dir).lexically_normal();
  std::vector<fs::path> places{absolute};
  if (fs::exists(absolute / "trial.yaml")) places.push_back((absolute / ".." / "..").lexically_normal());
  for (const fs::path& place : places) {
    const fs::path spec = fs::exists(place / "spec.yaml") ? place / "spec.yaml" : place / "trial.yaml";
    if (fs::exists(place / "model.safetensors") && fs::exists(spec))
      return {spec, place / "model.safetensors"};
  }
  throw UserError(fmt::format("the run {} has no weights (model.safetensors with spec.yaml)", dir.string()),
                  "`trainctl run` writes them at the end of training; did that run end?");
}

/// Prints text as it grows, whole UTF-8 characters at a time.
class Printer {
 public:
  explicit Printer(const tokenizer::Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  /// Decodes all of `ids`: some tokenizers write a token by what stands before it.
  void show(const std::vector<int64_t>& ids) {
    const std::vector<uint32_t> all(ids.begin(), ids.end());
    const std::string text = tokenizer_.decode(all);
    if (text.size() <= decoded_) return;
    print(stream_.push(std::string_view(text).substr(decoded_)));
    decoded_ = text.size();
  }
  void end() { print(stream_.finish() + "\n"); }

 private:
  static void print(const std::string& text) {
    fmt::print("{}", text);
    std::fflush(stdout);
  }

  const tokenizer::Tokenizer& tokenizer_;
  tokenizer::Utf8Stream stream_;
  size_t decoded_ = 0;
};

}  // namespace

void sample(model::Model& model, std::vector<int64_t>& ids, int64_t max_seq_len, const Sampling& sampling,
            const std::function<void(int64_t)>& sink) {
  const at::InferenceMode inference;
  at::Generator generator = at::detail::createCPUGenerator(static_cast<uint64_t>(sampling.seed));
  for (int64_t i = 0; i < sampling.num_tokens; ++i) {
    const auto length = std::min<int64_t>(static_cast<int64_t>(ids.size()), max_seq_len);
    const at::Tensor input_1T =
        torch::tensor(at::ArrayRef<int64_t>(ids).slice(ids.size() - static_cast<size_t>(length)));
    const at::Tensor logits_V = model.forward(input_1T.unsqueeze(0))[0][-1].to(torch::kFloat32);
    ids.push_back(draw(logits_V, sampling, generator));
    sink(ids.back());
  }
}

int generate(const std::string& argument) {
  const auto options = nlohmann::json::parse(argument);
  const FinishedRun run = find_run(options.at("run").get<std::string>());
  spec::JobSpec spec = spec::load_job(run.spec);
  if (!spec.model.max_seq_len || !spec.model.vocab_size)
    throw UserError("the run's model is no language model", "");
  if (spec.tokenizer.kind == spec::TokenizerKind::kNone) {
    throw UserError("the run has no tokenizer: `tokenizer.kind` is none in " + run.spec.string(),
                    "set it there to the one that made the run's token files");
  }
  const auto tokenizer = data::open_tokenizer(spec.tokenizer);
  const Sampling sampling{.num_tokens = options.value("tokens", int64_t{200}),
                          .temperature = options.value("temperature", 0.8),
                          .top_k = options.value("top_k", int64_t{50}),
                          .seed = options.value("seed", int64_t{0})};
  std::vector<uint32_t> prompt;
  tokenizer->encode(options.at("prompt").get<std::string>(), prompt);
  if (prompt.empty()) throw UserError("the prompt is empty", "give some text with --prompt TEXT");
  if (const uint32_t largest = *std::max_element(prompt.begin(), prompt.end());
      largest >= *spec.model.vocab_size) {
    throw UserError(fmt::format("the prompt holds token {}, but the model knows {} tokens", largest,
                                *spec.model.vocab_size),
                    "is this the run's tokenizer?");
  }

  if (spec.launch.threads) at::set_num_threads(static_cast<int>(*spec.launch.threads));  // as a worker had
  spec.model.init_from = run.weights;
  const auto model = model::make_model(spec.model);
  model::load_weights(*model, spec.model, at::kCPU);
  model->train(false);
  std::vector<int64_t> ids(prompt.begin(), prompt.end());
  Printer printer(*tokenizer);
  printer.show(ids);
  sample(*model, ids, *spec.model.max_seq_len, sampling, [&](int64_t) { printer.show(ids); });
  printer.end();
  return kExitDone;
}

}  // namespace trainctl::train
