// entry.cpp: the only symbol that libtrainctl_engine.so exports.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string_view>

#include "run/engine_entry.h"
#include "train/worker.h"
#include "util/diagnostic.h"

namespace {

int run_verb(std::string_view verb, const char* argument) {
  if (verb == "worker") return trainctl::train::run_worker(argument);
  if (verb == "generate") return trainctl::train::generate(argument);
  throw trainctl::InfraError(fmt::format("the engine has no verb `{}`", verb),
                             "trainctl and libtrainctl_engine.so are of different builds; build both again");
}

int run_guarded(std::string_view verb, const char* argument) {
  try {
    return run_verb(verb, argument);
  } catch (const trainctl::UserError& error) {
    for (const auto& diagnostic : error.diagnostics()) fmt::print(stderr, "{}", render(diagnostic));
    return trainctl::kExitUser;
  } catch (const std::exception& error) {
    const auto words = trainctl::train::describe(error);
    fmt::print(stderr, "{}", trainctl::render({.what = words.what, .help = words.help}));
    return trainctl::train::exit_code_of(words.kind);
  }
}

}  // namespace

/// Ends the process: the destructors of LibTorch's and CUDA's statics cost time and may wait for dead peers.
extern "C" __attribute__((visibility("default"))) int trainctl_engine_main(const char* verb,
                                                                           const char* argument) {
  const int code = run_guarded(verb, argument);
  std::fflush(nullptr);
  _exit(code);
}
