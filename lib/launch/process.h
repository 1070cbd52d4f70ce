// process.h: starting one worker, how it ended, and ending everything that it left behind.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace trainctl::launch {

struct Exited {
  int code = 0;
};
struct Signalled {
  int signal = 0;
};
using WorkerEnd = std::variant<Exited, Signalled>;

/// True for exit code 0 only.
bool is_good(const WorkerEnd& end);
/// "exited with code 3", "was killed by SIGKILL".
std::string to_words(const WorkerEnd& end);
/// "SIGKILL".
std::string signal_name(int signal);
/// From wait(2)'s status.
WorkerEnd worker_end(int status);

struct SpawnPlan {
  std::vector<std::string> command;      // argv; command[0] is looked up in PATH
  std::vector<std::string> environment;  // NAME=value, over this process's own
  int output_fd = -1;                    // becomes standard output and error; standard input is /dev/null
  int inherited_fd = -1;                 // stays open in the worker under the same number; -1: none
};

/// Starts a process in a session of its own, with no signal blocked, that is killed when its parent dies.
/// A command that cannot be executed ends with code 127 and says why in its output.  Throws InfraError where
/// no process can be made.
pid_t spawn(const SpawnPlan& plan);

/// SIGKILLs every child of this process, and what they leave behind, until none is left.  Needs this process
/// to be a child subreaper, so that orphaned grandchildren become its children.  Returns how many were
/// killed; gives up after `patience_s` (a process in uninterruptible sleep cannot be killed).
int kill_descendants(double patience_s = 5);

}  // namespace trainctl::launch
