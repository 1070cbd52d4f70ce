#include "launch/guard.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "launch/process.h"
#include "launch/signals.h"
#include "util/diagnostic.h"

namespace trainctl::launch {

namespace {

/// Waits for the agent and hands signals on to it.  Returns the status of wait(2) and the last signal handed
/// on.
int watch_over(pid_t agent, const sigset_t& events, int* passed_on) {
  while (true) {
    int status = 0;
    pid_t reaped = 0;
    while ((reaped = ::waitpid(-1, &status, WNOHANG)) > 0) {  // orphans of the agent become our children
      if (reaped == agent) return status;
    }
    const int signal = ::sigwaitinfo(&events, nullptr);
    if (signal <= 0 || signal == SIGCHLD) continue;
    ::kill(agent, signal);
    *passed_on = signal;
  }
}

int guard(pid_t agent, const sigset_t& events) {
  int passed_on = 0;
  const int status = watch_over(agent, events, &passed_on);
  kill_descendants();
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  const int signal = WTERMSIG(status);
  if (signal != passed_on) {
    std::fprintf(stderr, "error: the launcher's agent (pid %d) %s; everything it had started was stopped\n",
                 static_cast<int>(agent), to_words(Signalled{signal}).c_str());
  }
  return 128 + signal;
}

}  // namespace

int under_guard(const std::function<int()>& body) {
  std::fflush(nullptr);
  ::signal(SIGCHLD, SIG_DFL);  // some parents leave it ignored, and then nobody can be waited for
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t events = stop_signals();
  ::sigaddset(&events, SIGCHLD);
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &events, &before);
  const pid_t self = ::getpid();
  const pid_t agent = ::fork();
  if (agent < 0) throw InfraError("cannot start the agent: " + std::string(std::strerror(errno)));
  if (agent > 0) return guard(agent, events);

  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // while workers run the agent asks for a signal that it can handle
  if (::getppid() != self) ::_exit(128 + SIGKILL);
  ::setpgid(0, 0);
  ::signal(SIGPIPE, SIG_IGN);  // a terminal that goes away must not end the training
  ::signal(SIGTTOU, SIG_IGN);  // nor stop it: this group is not the terminal's foreground
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  return body();
}

}  // namespace trainctl::launch
