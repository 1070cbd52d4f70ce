// agent.h: starts, watches and reaps the workers of one attempt.  One loop over epoll: a pidfd for every
// worker, a pipe for every rank that is shown, a signalfd.  No threads.  Whom to start and what it means is
// left to others (launcher.h, root_cause.h).
//
//   a worker fails       the others get SIGTERM, and SIGKILL after the kill timeout
//   SIGTERM or SIGINT    goes on to every worker (they finish their step and stop), SIGKILL after the timeout
//   a second one         SIGKILL to all, now
//   the parent dies      SIGKILL to all that was started, then this process ends
//   all have ended       what they left running is killed too
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "launch/console.h"
#include "launch/process.h"

namespace trainctl::launch {

struct GroupPlan {
  std::vector<std::string> command;  // argv of every worker
  int num_workers = 1;
  std::vector<std::string> environment;  // NAME=value for every worker, besides run::WorkerEnv
  std::filesystem::path attempt_dir;     // exists; logs go to rank-<r>.log in it
  int attempt = 0;
  std::chrono::nanoseconds kill_timeout = std::chrono::seconds(10);
  std::vector<int> shown_ranks = {0};  // their output also goes to the console
};

struct WorkerExit {
  int rank = 0;
  pid_t pid = 0;
  WorkerEnd end;
  int64_t end_ns = 0;  // CLOCK_MONOTONIC, when the agent saw it
  double cpu_s = 0;    // user and system time
};

struct GroupEnd {
  std::vector<WorkerExit> exits;  // in the order in which they ended
  int stop_signal = 0;            // asked for the end before anything had failed; 0: none
  int64_t start_ns = 0;           // CLOCK_MONOTONIC, when the first worker was started
  double wall_s = 0;
  int attempt = 0;
  std::filesystem::path attempt_dir;
  int leftovers = 0;  // processes that the workers had left running, killed
};

std::filesystem::path log_path(const std::filesystem::path& attempt_dir, int rank);

/// Runs one group to its end.  Blocks SIGINT, SIGTERM and SIGHUP while it runs (a signal that was ignored
/// stays ignored) and makes this process a child subreaper.  Throws InfraError where workers cannot be
/// started (those that were are killed) or one cannot be killed.
GroupEnd run_group(const GroupPlan& plan, Console& console);

}  // namespace trainctl::launch
