// cmd_generate.cpp: prints text sampled from a trained run.
#include <nlohmann/json.hpp>

#include "commands.h"
#include "engine.h"

namespace trainctl::app {

namespace {

struct Options {
  std::string run, prompt;
  int64_t tokens = 200, top_k = 50, seed = 0;
  double temperature = 0.8;
};

std::string to_json(const Options& o) {
  // Bytes of the command line that are no UTF-8 are replaced, not refused.
  return nlohmann::json{{"run", o.run},     {"prompt", o.prompt},           {"tokens", o.tokens},
                        {"top_k", o.top_k}, {"temperature", o.temperature}, {"seed", o.seed}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

void add_generate(CLI::App& app, Action& action) {
  CLI::App* const command = app.add_subcommand("generate", "print text sampled from a trained run");
  auto options = std::make_shared<Options>();
  command->add_option("run", options->run, "the run's folder")->required();
  command->add_option("--prompt", options->prompt, "text to go on from")->required();
  command->add_option("--tokens", options->tokens, "how many tokens to add")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 30));
  command
      ->add_option("--temperature", options->temperature,
                   "0: always the most likely token; higher: more varied")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));
  command->add_option("--top-k", options->top_k, "draw from the k most likely tokens; 0: from all")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command->add_option("--seed", options->seed, "equal seeds give equal text")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command->footer("Example: trainctl generate runs/quickstart --prompt \"ROMEO:\"");
  command->callback(
      [&action, options] { action = [options] { return call_engine("generate", to_json(*options)); }; });
}

}  // namespace trainctl::app
