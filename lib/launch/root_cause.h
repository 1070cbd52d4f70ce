// root_cause.h: which worker failed first, and a text that says so.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launch/agent.h"
#include "run/trial.h"

namespace trainctl::launch {

struct RootCause {
  WorkerExit exit;
  std::optional<run::WorkerError> error;  // its last words, if it left any
  int64_t step = -1;                      // -1: before the first step, or not known
  double ran_s = 0;                       // from the start of the attempt to the failure
  int attempt = 0;
  std::filesystem::path log;
  std::vector<std::string> last_lines;  // of the log
};

/// The worker that failed first; nullopt where all ended well.  Ordered by the kernel's events
/// (GroupEnd::exits) and by the time stamps of error files: a worker may write its last words well before it
/// ends, and its peers then end before it.  A peer's `infra` error ("peer silent") counts after a worker that
/// died without a word.
std::optional<RootCause> find_root_cause(const GroupEnd& end);

/// "error: rank 3 (pid 4711) was killed by SIGKILL at step 812, 4 min into attempt 0", the log, its last
/// lines and what to do.  Ends in a newline.
std::string render(const RootCause& cause, bool color = false);

/// What the command ends with: a user's, an environment's or a bug's code where the worker said so, else 1.
int exit_code(const RootCause& cause);

}  // namespace trainctl::launch
