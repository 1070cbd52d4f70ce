#include "launch/launcher.h"

#include <cstdlib>

#include "util/diagnostic.h"

namespace trainctl::launch {

std::vector<std::string> worker_command(const run::Trial& trial) {
  const char* const other = std::getenv("TRAINCTL_WORKER");
  std::string program = other != nullptr ? other : std::filesystem::read_symlink("/proc/self/exe").string();
  return {std::move(program), "worker", trial.dir.string()};
}

GroupPlan plan_group(const run::Trial& trial, const std::vector<int>& shown_ranks) {
  const spec::LaunchSpec& launch = trial.spec.launch;
  const std::chrono::duration<double> kill_timeout(launch.kill_timeout_s);
  return {.command = worker_command(trial),
          .num_workers = static_cast<int>(launch.nproc_per_node.value()),
          .environment = {"OMP_NUM_THREADS=" + std::to_string(launch.threads.value())},
          .attempt_dir = trial.dir / "attempt-0",
          .attempt = 0,
          .kill_timeout = std::chrono::duration_cast<std::chrono::nanoseconds>(kill_timeout),
          .shown_ranks = shown_ranks};
}

GroupEnd LocalLauncher::run(const run::Trial& trial) {
  const GroupPlan plan = plan_group(trial, shown_ranks_);
  std::error_code error;
  std::filesystem::create_directories(plan.attempt_dir, error);
  if (error) throw InfraError("cannot make " + plan.attempt_dir.string() + ": " + error.message());
  run::write_trial(trial);
  const bool one = plan.num_workers == 1;
  console_.line(trial.name + ": " + std::to_string(plan.num_workers) + (one ? " process, " : " processes, ") +
                std::to_string(trial.spec.train.steps) + " steps, logs in " + plan.attempt_dir.string());
  console_.flush_some();
  return run_group(plan, console_);
}

}  // namespace trainctl::launch
