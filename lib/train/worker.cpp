#include "train/worker.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <cstdlib>
#include <new>
#include <nlohmann/json.hpp>

#include "device/peak.h"
#include "dist/peer_error.h"
#include "train/not_finite.h"
#include "train/trainer.h"
#include "util/clock.h"
#include "util/diagnostic.h"

namespace trainctl::train {
namespace {

constexpr const char* kMemoryHelp =
    "lower train.micro_batch (and raise train.accumulate to keep the batch), or take a smaller model";

/// TRAINCTL_ATTEMPT_DIR and RANK also where the rest of the environment is not in order.
std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Last words: a file for the launcher, the whole text with its stack for the log.
int fail(const std::exception& error, int64_t step) {
  run::WorkerError words = describe(error);
  words.rank = std::atoi(variable("RANK").c_str());
  words.step = step;
  words.monotonic_ns = monotonic_ns();
  if (const std::string dir = variable("TRAINCTL_ATTEMPT_DIR"); !dir.empty()) {
    try {
      run::write_worker_error(words, dir);
    } catch (const std::exception& second) {
      fmt::print(stderr, "cannot write the error file: {}\n", second.what());
    }
  }
  fmt::print(stderr, "error: rank {}{}: {}\n", words.rank, step < 0 ? "" : fmt::format(", step {}", step),
             words.what);
  if (!words.help.empty()) fmt::print(stderr, "  help: {}\n", words.help);
  if (words.kind == "bug") fmt::print(stderr, "{}\n", error.what());
  return exit_code_of(words.kind);
}

}  // namespace

run::WorkerError describe(const std::exception& error) {
  const auto is = [&]<class Type>(const Type*) { return dynamic_cast<const Type*>(&error) != nullptr; };
  const auto words = [](std::string kind, std::string what, std::string help) {
    return run::WorkerError{.kind = std::move(kind), .what = std::move(what), .help = std::move(help)};
  };
  if (const auto* user = dynamic_cast<const UserError*>(&error)) {
    const Diagnostic& first = user->diagnostics().front();
    return words("user", user->diagnostics().size() == 1 ? first.what : user->what(), first.help);
  }
  if (const auto* infra = dynamic_cast<const InfraError*>(&error))
    return words("infra", infra->what(), infra->help());
  if (const auto* bad = dynamic_cast<const NotFinite*>(&error))
    return words("not_finite", bad->what(), bad->help());
  if (dist::is_peer_error(error)) {
    return words("infra", "lost a peer: " + dist::first_line(error),
                 "the rank that failed first says why in its log");
  }
  if (is(static_cast<const std::bad_alloc*>(nullptr))) return words("infra", "out of memory", kMemoryHelp);
  if (is(static_cast<const c10::OutOfMemoryError*>(nullptr))) {
    return words("infra", "the device is out of memory: " + dist::first_line(error), kMemoryHelp);
  }
  if (is(static_cast<const c10::AcceleratorError*>(nullptr))) {
    return words(
        "infra", "the device failed: " + dist::first_line(error),
        "run again with CUDA_LAUNCH_BLOCKING=1 to find the kernel; `nvidia-smi` shows failed hardware");
  }
  return words(
      "bug", dist::first_line(error),
      "this is a bug in trainctl; please report it with the log and the output of `trainctl --version`");
}

int exit_code_of(const std::string& kind) {
  if (kind == "user") return kExitUser;
  if (kind == "infra") return kExitInfra;
  return kind == "not_finite" ? kExitJob : kExitBug;
}

int run_worker(const std::string& dir) {
  const int64_t entry_ns = monotonic_ns();
  int64_t step = -1;
  try {
    const run::WorkerEnv env = run::worker_env_from_process();
    const run::Trial trial = run::read_trial(dir);
    const ProcessStart start{.exec_ns = env.exec_ns,
                             .load_s = static_cast<double>(entry_ns - env.exec_ns) / 1e9};
    run_trial(trial, env, start, step);
    return kExitDone;
  } catch (const std::exception& error) {
    return fail(error, step);
  }
}

}  // namespace trainctl::train
