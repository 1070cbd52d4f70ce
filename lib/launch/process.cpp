#include "launch/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <set>

#include "util/atomic_file.h"
#include "util/clock.h"
#include "util/diagnostic.h"

namespace trainctl::launch {

namespace {

/// argv or envp: pointers into `strings`, with the null at the end.
std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (const std::string& s : strings) out.push_back(const_cast<char*>(s.c_str()));
  out.push_back(nullptr);
  return out;
}

/// This process's variables, with those of `over` in place of their namesakes.
std::vector<std::string> merged_environment(const std::vector<std::string>& over) {
  const auto name_of = [](const std::string& variable) { return variable.substr(0, variable.find('=')); };
  std::set<std::string> names;
  for (const std::string& variable : over) names.insert(name_of(variable));
  std::vector<std::string> out = over;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (names.count(name_of(*variable)) == 0) out.emplace_back(*variable);
  }
  return out;
}

/// The child's side of spawn.  Only async-signal-safe calls.
[[noreturn]] void become_worker(const SpawnPlan& plan, char* const* argv, char* const* envp, pid_t parent) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it died before the line above
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // No handler of ours may run here; what was ignored stays so, as exec would have it.
    if (::signal(signal, SIG_DFL) == SIG_IGN) ::signal(signal, SIG_IGN);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGTTOU, SIG_DFL);
  const int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, STDIN_FILENO);
  ::dup2(plan.output_fd, STDOUT_FILENO);
  ::dup2(plan.output_fd, STDERR_FILENO);
  if (null > STDERR_FILENO) ::close(null);
  if (plan.inherited_fd >= 0) ::fcntl(plan.inherited_fd, F_SETFD, 0);
  ::execvpe(argv[0], argv, envp);
  const char* const reason = ::strerrordesc_np(errno);
  ::dprintf(STDERR_FILENO, "cannot execute %s: %s\n", argv[0], reason);
  ::_exit(127);
}

/// The processes whose parent is this one.
std::vector<pid_t> children() {
  std::vector<pid_t> out;
  const pid_t self = ::getpid();
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (bad != std::errc() || *end != '\0') continue;
    std::string stat;
    try {
      stat = read_file_if_present(entry.path() / "stat").value_or("");
    } catch (const InfraError&) {
      continue;  // it ended while we read
    }
    // pid (name) state ppid: the name may hold anything, also a parenthesis, so search from the end.
    const size_t after_name = stat.rfind(')');
    if (after_name != std::string::npos &&
        std::atoi(stat.c_str() + std::min(after_name + 4, stat.size())) == self) {
      out.push_back(pid);
    }
  }
  return out;
}

}  // namespace

bool is_good(const WorkerEnd& end) {
  const auto* const exited = std::get_if<Exited>(&end);
  return exited != nullptr && exited->code == 0;
}

std::string to_words(const WorkerEnd& end) {
  if (const auto* const exited = std::get_if<Exited>(&end)) {
    return "exited with code " + std::to_string(exited->code);
  }
  return "was killed by " + signal_name(std::get<Signalled>(end).signal);
}

std::string signal_name(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(signal);
}

WorkerEnd worker_end(int status) {
  if (WIFSIGNALED(status)) return Signalled{WTERMSIG(status)};
  return Exited{WEXITSTATUS(status)};
}

pid_t spawn(const SpawnPlan& plan) {
  const std::vector<std::string> environment = merged_environment(plan.environment);
  const std::vector<char*> argv = pointers(plan.command);
  const std::vector<char*> envp = pointers(environment);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become_worker(plan, argv.data(), envp.data(), parent);
  if (pid < 0) {
    throw InfraError("cannot start a worker: " + std::string(std::strerror(errno)),
                     "check `ulimit -u` and the free memory");
  }
  return pid;
}

int kill_descendants(double patience_s) {
  const int64_t deadline = monotonic_ns() + static_cast<int64_t>(patience_s * 1e9);
  std::set<pid_t> killed;
  while (true) {
    pid_t reaped = 0;
    while ((reaped = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (reaped < 0 || monotonic_ns() > deadline) return static_cast<int>(killed.size());  // < 0: none is left
    for (const pid_t pid : children()) {
      if (::kill(pid, SIGKILL) == 0) killed.insert(pid);
    }
    ::usleep(1000);
  }
}

}  // namespace trainctl::launch
