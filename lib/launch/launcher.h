// launcher.h: runs a trial.  What a stage needs from the launcher, small enough for a test to stand in.
#pragma once

#include <string>
#include <vector>

#include "launch/agent.h"
#include "run/trial.h"

namespace trainctl::launch {

class Launcher {
 public:
  virtual ~Launcher() = default;
  /// Writes the trial, runs its workers and returns how they ended.  Throws InfraError where it cannot start.
  virtual GroupEnd run(const run::Trial& trial) = 0;
};

/// The workers' command: this program's `worker <trial dir>`.  The variable TRAINCTL_WORKER names another
/// program to be started with these arguments in its place (tests; a wrapper such as a debugger).
std::vector<std::string> worker_command(const run::Trial& trial);

/// What to run for `trial`, as data; `--dry-run` prints it.  The trial's launch.* must be resolved.
GroupPlan plan_group(const run::Trial& trial, const std::vector<int>& shown_ranks);

/// All workers on this machine.
class LocalLauncher : public Launcher {
 public:
  LocalLauncher(Console& console, std::vector<int> shown_ranks)
      : console_(console), shown_ranks_(std::move(shown_ranks)) {}
  GroupEnd run(const run::Trial& trial) override;

 private:
  Console& console_;
  std::vector<int> shown_ranks_;
};

}  // namespace trainctl::launch
