#include "launch/agent.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "launch/line_splitter.h"
#include "launch/signals.h"
#include "run/worker_env.h"
#include "util/clock.h"
#include "util/diagnostic.h"
#include "util/fd.h"

namespace trainctl::launch {

namespace {

// `timeout` and a shell's job control signal a process and its group at once; within this time that is one
// wish.
constexpr int64_t kSameWish_ns = 200'000'000;
// After SIGKILL.  A process that is still there then sits in the kernel (a dead network disk, a broken
// device).
constexpr int64_t kUnkillable_ns = 10'000'000'000;

InfraError system_error(const std::string& doing) {
  return InfraError("cannot " + doing + ": " + std::strerror(errno),
                    errno == EMFILE || errno == ENFILE ? "raise `ulimit -n`" : "");
}

/// A listening socket on a free port of the loopback device, for rank 0 to serve the rendezvous on.
struct StoreSocket {
  Fd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  int port = 0;

  StoreSocket() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof(address);
    if (!fd || ::bind(fd.get(), any, size) != 0 || ::listen(fd.get(), SOMAXCONN) != 0 ||
        ::getsockname(fd.get(), any, &size) != 0) {
      throw system_error("open a port on 127.0.0.1");
    }
    port = ::ntohs(address.sin_port);
  }
};

struct Worker {
  pid_t pid = 0;
  Fd pidfd;
  bool running = false;
};

/// The output of a worker that is shown: read from `pipe`, kept in `log`, handed on by lines.
struct Output {
  Fd pipe, log;
  LineSplitter lines;
  bool watched = false;
  bool log_failed = false;
};

class Agent {
 public:
  Agent(const GroupPlan& plan, Console& console) : plan_(plan), console_(console) {}
  GroupEnd run();

 private:
  // An epoll event's data: what it is, and of which rank.
  enum Source : uint32_t { kSignal, kWorker, kOutput };
  void watch(int fd, Source source, int rank);

  void start(int rank);
  void on_signal(int signal);
  void on_worker_end(int rank);
  bool on_output(int rank);
  void stop_workers(int signal);
  void kill_workers();
  void on_deadline();
  void pace_outputs();
  void reap_adopted();
  void finish_outputs();
  int timeout_ms() const;
  void show(int rank, std::string_view line);

  const GroupPlan& plan_;
  Console& console_;
  SignalEvents signals_;
  StoreSocket store_;
  Fd epoll_{::epoll_create1(EPOLL_CLOEXEC)};
  std::vector<Worker> workers_;
  std::vector<std::optional<Output>> outputs_;  // by rank; none: the log file is the worker's own output
  int num_running_ = 0;
  bool stopping_ = false, killed_ = false;
  int64_t deadline_ns_ = INT64_MAX;
  int64_t first_signal_ns_ = 0;
  GroupEnd end_;
};

GroupEnd Agent::run() {
  end_.start_ns = monotonic_ns();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  watch(signals_.fd(), kSignal, 0);
  workers_.resize(static_cast<size_t>(plan_.num_workers));
  outputs_.resize(workers_.size());
  for (int rank = 0; rank < plan_.num_workers; ++rank) start(rank);
  while (num_running_ > 0) {
    epoll_event events[64];
    const int n = ::epoll_wait(epoll_.get(), events, 64, timeout_ms());
    for (int i = 0; i < n; ++i) {  // in the order in which they happened
      const auto source = static_cast<Source>(events[i].data.u64 >> 32);
      const int rank = static_cast<int>(events[i].data.u64 & 0xffffffff);
      if (source == kSignal) on_signal(signals_.next());
      if (source == kWorker) on_worker_end(rank);
      if (source == kOutput) on_output(rank);
    }
    if (monotonic_ns() >= deadline_ns_) on_deadline();
    reap_adopted();
    pace_outputs();
  }
  end_.leftovers = kill_descendants();
  finish_outputs();
  end_.attempt = plan_.attempt;
  end_.attempt_dir = plan_.attempt_dir;
  end_.wall_s = static_cast<double>(monotonic_ns() - end_.start_ns) * 1e-9;
  return std::move(end_);
}

void Agent::watch(int fd, Source source, int rank) {
  epoll_event event{.events = EPOLLIN, .data = {}};
  event.data.u64 = (static_cast<uint64_t>(source) << 32) | static_cast<uint32_t>(rank);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) throw system_error("watch a worker");
}

void Agent::start(int rank) {
  const std::filesystem::path path = log_path(plan_.attempt_dir, rank);
  Fd log(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!log) throw system_error("write " + path.string());
  const auto& shown = plan_.shown_ranks;
  const bool is_shown = std::find(shown.begin(), shown.end(), rank) != shown.end();
  int pipe[2] = {-1, -1};
  if (is_shown && ::pipe2(pipe, O_CLOEXEC) != 0) throw system_error("make a pipe");
  Fd pipe_out(pipe[0]);
  const Fd pipe_in(pipe[1]);

  run::WorkerEnv env{.rank = rank,
                     .local_rank = rank,
                     .world_size = plan_.num_workers,
                     .local_world_size = plan_.num_workers,
                     .master_port = store_.port,
                     .store_fd = rank == 0 ? store_.fd.get() : -1,
                     .attempt = plan_.attempt,
                     .attempt_dir = plan_.attempt_dir,
                     .exec_ns = monotonic_ns()};
  SpawnPlan spawn_plan{.command = plan_.command,
                       .environment = run::to_environment(env),
                       .output_fd = is_shown ? pipe_in.get() : log.get(),
                       .inherited_fd = env.store_fd};
  spawn_plan.environment.insert(spawn_plan.environment.end(), plan_.environment.begin(),
                                plan_.environment.end());
  Worker& worker = workers_[static_cast<size_t>(rank)];
  worker.pid = spawn(spawn_plan);
  worker.running = true;
  ++num_running_;
  worker.pidfd = Fd(static_cast<int>(::syscall(SYS_pidfd_open, worker.pid, 0)));
  if (!worker.pidfd) throw system_error("watch a worker (pidfd_open; Linux 5.3 or later is needed)");
  watch(worker.pidfd.get(), kWorker, rank);
  if (is_shown) {
    ::fcntl(pipe_out.get(), F_SETFL, O_NONBLOCK);
    watch(pipe_out.get(), kOutput, rank);
    outputs_[static_cast<size_t>(rank)] = Output{std::move(pipe_out), std::move(log), {}, true, false};
  }
  if (console_.verbose())
    console_.line("rank " + std::to_string(rank) + " is pid " + std::to_string(worker.pid));
}

void Agent::on_signal(int signal) {
  if (signal == 0) return;
  if (signal == parent_death_signal()) {
    kill_descendants();
    ::_exit(128 + SIGKILL);
  }
  const int64_t now = monotonic_ns();
  if (!stopping_) {
    end_.stop_signal = signal;
    first_signal_ns_ = now;
    console_.line("stopping after this step; once more: stop now");
    stop_workers(signal);
  } else if (now - first_signal_ns_ > kSameWish_ns) {
    console_.line("stopping now");
    kill_workers();
  }
}

void Agent::on_worker_end(int rank) {
  Worker& worker = workers_[static_cast<size_t>(rank)];
  int status = 0;
  rusage usage{};
  if (!worker.running || ::wait4(worker.pid, &status, WNOHANG, &usage) != worker.pid) return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, worker.pidfd.get(), nullptr);
  worker.running = false;
  --num_running_;
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  const WorkerEnd end = worker_end(status);
  end_.exits.push_back(
      {rank, worker.pid, end, monotonic_ns(), seconds(usage.ru_utime) + seconds(usage.ru_stime)});
  if (is_good(end) || stopping_) return;
  if (num_running_ > 0) {
    console_.line("rank " + std::to_string(rank) + " " + to_words(end) + "; stopping the others");
  }
  stop_workers(SIGTERM);
}

/// Reads once, so that a flood of output does not hold up the watch over the workers.  False: nothing was
/// there.
bool Agent::on_output(int rank) {
  Output& output = *outputs_[static_cast<size_t>(rank)];
  char buffer[64 * 1024];
  const ssize_t n = ::read(output.pipe.get(), buffer, sizeof(buffer));
  if (n < 0) return errno == EINTR;
  if (n == 0) {  // all writers have closed it
    if (output.watched) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, output.pipe.get(), nullptr);
    output.watched = false;
    output.pipe.close();
    return false;
  }
  const std::string_view bytes(buffer, static_cast<size_t>(n));
  for (std::string_view rest = bytes; !rest.empty() && !output.log_failed;) {
    const ssize_t written = ::write(output.log.get(), rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      output.log_failed = true;
      console_.line("warning: cannot write " + log_path(plan_.attempt_dir, rank).string() + ": " +
                    std::strerror(errno) + "; the run goes on, the rest of this log is lost");
    }
  }
  output.lines.feed(bytes, [&](std::string_view line) { show(rank, line); });
  return true;
}

void Agent::show(int rank, std::string_view line) {
  const bool is_status = line.starts_with("step ");
  const std::string prefix = plan_.shown_ranks.size() > 1 ? "[r" + std::to_string(rank) + "] " : "";
  if (is_status && rank == plan_.shown_ranks.front()) {
    console_.status(prefix + std::string(line));
  } else {
    console_.line(prefix + std::string(line));
  }
}

void Agent::stop_workers(int signal) {
  stopping_ = true;
  for (const Worker& worker : workers_) {
    if (!worker.running) continue;
    ::kill(worker.pid, signal);
    ::kill(worker.pid, SIGCONT);  // a stopped process would not see it
  }
  deadline_ns_ = monotonic_ns() + plan_.kill_timeout.count();
}

void Agent::kill_workers() {
  stopping_ = killed_ = true;
  for (const Worker& worker : workers_) {
    if (!worker.running) continue;
    ::kill(-worker.pid, SIGKILL);
    ::kill(worker.pid, SIGKILL);  // it may not have a group of its own yet
  }
  deadline_ns_ = monotonic_ns() + kUnkillable_ns;
}

void Agent::on_deadline() {
  for (size_t rank = 0; rank < workers_.size(); ++rank) {
    if (!workers_[rank].running) continue;
    const std::string who =
        "rank " + std::to_string(rank) + " (pid " + std::to_string(workers_[rank].pid) + ")";
    if (killed_) {
      throw InfraError(
          who + " does not end 10 s after SIGKILL: it is stuck in the kernel",
          "look at `cat /proc/" + std::to_string(workers_[rank].pid) + "/stack`, disks and devices");
    }
    console_.line(who + " did not end within the kill timeout; killing it");
  }
  kill_workers();
}

/// Workers are not read from while the terminal is behind; nothing is lost and memory stays bounded.
void Agent::pace_outputs() {
  console_.flush_some();
  for (size_t rank = 0; rank < outputs_.size(); ++rank) {
    auto& output = outputs_[rank];
    if (!output || !output->pipe || output->watched != console_.full()) continue;
    if (output->watched) {
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, output->pipe.get(), nullptr);
    } else {
      watch(output->pipe.get(), kOutput, static_cast<int>(rank));
    }
    output->watched = !output->watched;
  }
}

/// Orphans of workers become our children.  Workers themselves are left to their pidfd, which keeps the
/// order.
void Agent::reap_adopted() {
  siginfo_t info{};
  while (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
    const auto is_it = [&](const Worker& worker) { return worker.pid == info.si_pid; };
    if (std::any_of(workers_.begin(), workers_.end(), is_it)) return;
    ::waitpid(info.si_pid, nullptr, 0);
    info = {};
  }
}

/// What is still in the pipes.  Nobody writes any more: read until empty, not until closed.
void Agent::finish_outputs() {
  for (size_t rank = 0; rank < outputs_.size(); ++rank) {
    auto& output = outputs_[rank];
    if (!output) continue;
    while (output->pipe && on_output(static_cast<int>(rank))) {
      if (console_.full()) console_.finish();
    }
    output->lines.finish([&](std::string_view line) { show(static_cast<int>(rank), line); });
  }
  console_.end_status();
  console_.flush_some();
}

int Agent::timeout_ms() const {
  constexpr int kTerminalRetry_ms = 20;
  int64_t wait_ms = -1;
  if (deadline_ns_ != INT64_MAX)
    wait_ms = std::max<int64_t>(0, (deadline_ns_ - monotonic_ns()) / 1'000'000 + 1);
  if (console_.behind() && (wait_ms < 0 || wait_ms > kTerminalRetry_ms)) wait_ms = kTerminalRetry_ms;
  return static_cast<int>(wait_ms);
}

}  // namespace

std::filesystem::path log_path(const std::filesystem::path& attempt_dir, int rank) {
  return attempt_dir / ("rank-" + std::to_string(rank) + ".log");
}

GroupEnd run_group(const GroupPlan& plan, Console& console) {
  Agent agent(plan, console);
  try {
    return agent.run();
  } catch (...) {
    kill_descendants();
    throw;
  }
}

}  // namespace trainctl::launch
