#include "run/worker_env.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "util/diagnostic.h"

namespace trainctl::run {

namespace {

constexpr const char* kHelp =
    "`trainctl run` starts workers; to start one by hand set what torchrun sets and TRAINCTL_*";

/// Reads variables and collects what is wrong with them, so that all mistakes show at once.
class Reader {
 public:
  std::string text(const char* name) {
    const char* const value = std::getenv(name);
    if (value == nullptr)
      errors_.push_back({.what = "the variable " + std::string(name) + " is not set", .help = kHelp});
    return value == nullptr ? "" : value;
  }

  template <class Int>
  void number(const char* name, Int& out) {
    const std::string value = text(name);
    if (std::getenv(name) == nullptr) return;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
    if (error != std::errc() || end != value.data() + value.size()) {
      errors_.push_back(
          {.what = std::string(name) + " is `" + value + "`, which is not a whole number", .help = kHelp});
    }
  }

  void require(bool holds, const std::string& what) {
    if (errors_.empty() && !holds) errors_.push_back({.what = what, .help = kHelp});
  }

  void throw_if_any() {
    if (!errors_.empty()) throw UserError(std::move(errors_));
  }

 private:
  std::vector<Diagnostic> errors_;
};

}  // namespace

std::vector<std::string> to_environment(const WorkerEnv& env) {
  std::vector<std::string> out = {
      "RANK=" + std::to_string(env.rank),
      "LOCAL_RANK=" + std::to_string(env.local_rank),
      "WORLD_SIZE=" + std::to_string(env.world_size),
      "LOCAL_WORLD_SIZE=" + std::to_string(env.local_world_size),
      "MASTER_ADDR=" + env.master_addr,
      "MASTER_PORT=" + std::to_string(env.master_port),
      "TRAINCTL_ATTEMPT=" + std::to_string(env.attempt),
      "TRAINCTL_ATTEMPT_DIR=" + env.attempt_dir.string(),
      "TRAINCTL_EXEC_NS=" + std::to_string(env.exec_ns),
  };
  if (env.store_fd >= 0) out.push_back("TRAINCTL_STORE_FD=" + std::to_string(env.store_fd));
  return out;
}

WorkerEnv worker_env_from_process() {
  Reader reader;
  WorkerEnv env;
  reader.number("RANK", env.rank);
  reader.number("LOCAL_RANK", env.local_rank);
  reader.number("WORLD_SIZE", env.world_size);
  reader.number("LOCAL_WORLD_SIZE", env.local_world_size);
  env.master_addr = reader.text("MASTER_ADDR");
  reader.number("MASTER_PORT", env.master_port);
  reader.number("TRAINCTL_ATTEMPT", env.attempt);
  env.attempt_dir = reader.text("TRAINCTL_ATTEMPT_DIR");
  reader.number("TRAINCTL_EXEC_NS", env.exec_ns);
  if (std::getenv("TRAINCTL_STORE_FD") != nullptr) reader.number("TRAINCTL_STORE_FD", env.store_fd);
  reader.require(
      env.rank >= 0 && env.rank < env.world_size,
      "RANK is " + std::to_string(env.rank) + ", outside of WORLD_SIZE " + std::to_string(env.world_size));
  reader.throw_if_any();
  return env;
}

}  // namespace trainctl::run
