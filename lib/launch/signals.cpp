#include "launch/signals.h"

#include <sys/prctl.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "util/diagnostic.h"

namespace trainctl::launch {

int parent_death_signal() { return SIGRTMIN; }

sigset_t stop_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    ::sigaction(signal, nullptr, &now);
    if (now.sa_handler != SIG_IGN) ::sigaddset(&set, signal);  // nohup and `sh -c "... &"` ignore some
  }
  return set;
}

SignalEvents::SignalEvents() : stop_(stop_signals()) {
  sigset_t set = stop_;
  ::sigaddset(&set, parent_death_signal());
  ::sigprocmask(SIG_BLOCK, &set, &before_);
  fd_ = Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_) throw InfraError("signalfd: " + std::string(std::strerror(errno)));
  ::prctl(PR_GET_PDEATHSIG, &parent_death_before_);
  ::prctl(PR_SET_PDEATHSIG, parent_death_signal());
}

SignalEvents::~SignalEvents() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (stop_asked_ && ::sigismember(&stop_, signal) == 1) ::signal(signal, SIG_IGN);
  }
  ::prctl(PR_SET_PDEATHSIG, parent_death_before_);
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

int SignalEvents::next() {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof(info)) != sizeof(info)) return 0;
  const int signal = static_cast<int>(info.ssi_signo);
  stop_asked_ = stop_asked_ || ::sigismember(&stop_, signal) == 1;
  return signal;
}

}  // namespace trainctl::launch
