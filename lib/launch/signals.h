// signals.h: signals as events of a loop.
#pragma once

#include <signal.h>

#include "util/fd.h"

namespace trainctl::launch {

/// What the agent gets when its guard dies (PR_SET_PDEATHSIG).
int parent_death_signal();

/// Blocks the signals that ask for an end (SIGINT, SIGTERM, SIGHUP unless ignored, and the parent's death)
/// and hands them out through fd().  Undone at the end of the scope, except that after a stop signal was
/// handed out further ones are ignored: this process is on its way to its end, and should say how it went.
class SignalEvents {
 public:
  SignalEvents();
  ~SignalEvents();
  SignalEvents(const SignalEvents&) = delete;
  SignalEvents& operator=(const SignalEvents&) = delete;

  int fd() const { return fd_.get(); }
  /// The next signal, or 0.
  int next();

 private:
  sigset_t stop_ = {};
  sigset_t before_;
  int parent_death_before_ = 0;
  Fd fd_;
  bool stop_asked_ = false;
};

/// The signals that ask for an end and are not ignored.
sigset_t stop_signals();

}  // namespace trainctl::launch
