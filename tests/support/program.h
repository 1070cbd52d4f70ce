// program.h: runs a program as a user would, with its two outputs apart, and counts what it leaves behind.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "support/files.h"
#include "support/temp_dir.h"

namespace trainctl::test {

/// $TRAINCTL_BIN: the program under test.
inline std::string trainctl_bin() {
  const char* const bin = std::getenv("TRAINCTL_BIN");
  if (bin == nullptr) throw std::runtime_error("TRAINCTL_BIN is not set; run this through ctest");
  return bin;
}

/// Polls until `done` or the time is over.
template <class Done>
bool eventually(Done done, double seconds = 10) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

class Program {
 public:
  /// `env`: NAME=value on top of the test's own.
  Program(std::vector<std::string> command, const std::vector<std::string>& env = {},
          const std::filesystem::path& folder = ".") {
    std::vector<char*> argv;
    for (auto& word : command) argv.push_back(word.data());
    argv.push_back(nullptr);
    const std::string out = dir_ / "out", err = dir_ / "err";
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::setpgid(0, 0);
    ::dup2(::open(out.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600), 1);
    ::dup2(::open(err.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600), 2);
    for (const auto& variable : env) ::putenv(const_cast<char*>(variable.c_str()));
    if (::chdir(folder.c_str()) != 0) ::_exit(126);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  ~Program() {
    if (!reaped_) {
      ::kill(pid_, SIGKILL);
      wait();
    }
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  void kill(int signal) const { ::kill(pid_, signal); }
  /// Exit code, 128 + n where signal n ended it.
  int wait() {
    if (!reaped_) {
      int status = 0;
      ::waitpid(pid_, &status, 0);
      code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      reaped_ = true;
    }
    return code_;
  }
  std::string out() const { return read_file(dir_ / "out"); }
  std::string err() const { return read_file(dir_ / "err"); }

 private:
  TempDir dir_;
  pid_t pid_ = 0;
  bool reaped_ = false;
  int code_ = 0;
};

/// Processes (no zombies) whose environment has `variable` (NAME=value): what a run has started carries a
/// mark.
inline std::vector<pid_t> processes_with(const std::string& variable) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string environment = '\0' + read_file(entry.path() / "environ");  // a zombie has none
    if (environment.find('\0' + variable + '\0') != std::string::npos) found.push_back(std::stoi(name));
  }
  return found;
}

}  // namespace trainctl::test
