// ranks.h: starts several dist_rank processes and collects how each ended.
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "run/worker_env.h"

namespace trainctl::test {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// A listening socket on a free port of this machine, as the launcher hands to rank 0.
struct Listener {
  Listener() : fd(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(listen(fd, 128) == 0);
    REQUIRE(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port = ntohs(address.sin_port);
  }
  ~Listener() { close(fd); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  int fd, port = 0;
};

/// One running dist_rank.
struct Rank {
  pid_t pid = -1;
  int out = -1;
};

struct Ended {
  int status = 0;
  std::string out;
  double after_s = 0;  // since wait_all was called
};

inline Rank start(int rank, int size, const std::string& what, const std::string& timeout_s,
                  const Listener& listener) {
  std::array<int, 2> pipe_fds{};
  REQUIRE(pipe(pipe_fds.data()) == 0);
  run::WorkerEnv env{.rank = rank, .local_rank = rank, .world_size = size, .local_world_size = size};
  env.master_port = listener.port;
  env.store_fd = rank == 0 ? listener.fd : -1;
  env.attempt_dir = "/";
  std::vector<std::string> variables = run::to_environment(env);
  variables.emplace_back("OMP_NUM_THREADS=1");
  variables.emplace_back("ASAN_OPTIONS=detect_leaks=0");
  const std::string program = fs::read_symlink("/proc/self/exe").parent_path() / "dist_rank";
  std::vector<char*> environment, arguments;
  for (auto& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  std::vector<std::string> words = {program, what, timeout_s};
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(pipe_fds[1], STDOUT_FILENO);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    if (rank != 0) close(listener.fd);
    execve(program.c_str(), arguments.data(), environment.data());
    _exit(127);
  }
  close(pipe_fds[1]);
  return {pid, pipe_fds[0]};
}

/// Waits for every rank; one that is still there after 60 s is killed, which the caller sees in its status.
inline std::vector<Ended> wait_all(const std::vector<Rank>& ranks) {
  const auto begin = Clock::now();
  const auto elapsed_s = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  std::vector<Ended> ended(ranks.size());
  for (size_t open = ranks.size(); open > 0;) {
    std::vector<pollfd> waiting;
    std::vector<size_t> who;
    for (size_t i = 0; i < ranks.size(); ++i) {
      if (ended[i].after_s == 0) {
        waiting.push_back({ranks[i].out, POLLIN, 0});
        who.push_back(i);
      }
    }
    poll(waiting.data(), waiting.size(), 1000);
    for (size_t k = 0; k < waiting.size(); ++k) {
      Ended& end = ended[who[k]];
      std::array<char, 4096> text{};
      if (waiting[k].revents == 0) continue;
      const ssize_t got = read(waiting[k].fd, text.data(), text.size());
      if (got > 0) {
        end.out.append(text.data(), got);
        continue;
      }
      close(waiting[k].fd);
      waitpid(ranks[who[k]].pid, &end.status, 0);
      end.after_s = elapsed_s();
      --open;
    }
    if (elapsed_s() > 60) {
      for (const size_t i : who) kill(ranks[i].pid, SIGKILL);
    }
  }
  return ended;
}

inline std::vector<Ended> run_ranks(int size, const std::string& what, const std::string& timeout_s) {
  const Listener listener;
  std::vector<Rank> ranks;
  for (int rank = 0; rank < size; ++rank) ranks.push_back(start(rank, size, what, timeout_s, listener));
  return wait_all(ranks);
}

inline bool exited(const Ended& end, int code) {
  return WIFEXITED(end.status) && WEXITSTATUS(end.status) == code;
}

}  // namespace trainctl::test
