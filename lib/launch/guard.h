// guard.h: the promise that SIGKILL of any one process of the launcher leaves nothing behind.
//
// Two processes keep it.  The guard, whose pid the user sees, only waits; the agent below it does the work.
// Both are child subreapers, so that what either one leaves behind becomes a child of the other side of the
// promise: when the agent is killed, its workers die by PR_SET_PDEATHSIG and the guard kills what they had
// started; when the guard is killed, the agent is told by PR_SET_PDEATHSIG and kills everything below it
// (agent.h).
#pragma once

#include <functional>

namespace trainctl::launch {

/// Splits this process in two.  In the agent: runs `body`, returns what it returns and lets its exceptions
/// pass. In the guard: hands on every stop signal, waits for the agent, kills what is left of it and returns
/// its exit code (128 + n where a signal ended it).  The agent has a process group of its own, so that a
/// signal to the group of the guard, such as a terminal's Ctrl-C, reaches it once.
int under_guard(const std::function<int()>& body);

}  // namespace trainctl::launch
