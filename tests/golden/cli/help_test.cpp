// What the command line says of itself, and what it costs to ask.
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/golden.h"
#include "support/program.h"

using namespace trainctl::test;

namespace {

std::filesystem::path folder() {
  return std::filesystem::path(std::getenv("TRAINCTL_SOURCE_DIR")) / "tests/golden/cli";
}

}  // namespace

TEST_CASE("the help of every subcommand is as reviewed", "[cli]") {
  for (const std::string command : {"", "run", "baseline", "train", "validate", "schema", "data",
                                    "data check", "data tokenize", "generate"}) {
    std::vector<std::string> words{trainctl_bin()};
    for (size_t from = 0; from < command.size();) {
      const size_t to = std::min(command.find(' ', from), command.size());
      words.push_back(command.substr(from, to - from));
      from = to + 1;
    }
    words.push_back("--help");
    Program program(words);
    CHECK(program.wait() == 0);
    std::string name = command.empty() ? "trainctl" : command;
    std::replace(name.begin(), name.end(), ' ', '_');
    CHECK(golden(folder() / ("help_" + name + ".txt"), program.out()) == "");
  }
}

TEST_CASE("a mistyped subcommand is named with the nearest one", "[cli]") {
  Program typo({trainctl_bin(), "baselin", "x.yaml"}, {"NO_COLOR=1"});
  CHECK(typo.wait() == 2);
  CHECK(typo.err() == "error: there is no subcommand `baselin`\n  help: did you mean `trainctl baseline`?\n");
  Program nonsense({trainctl_bin(), "qqqqqqqq"}, {"NO_COLOR=1"});
  CHECK(nonsense.wait() == 2);
  CHECK(nonsense.err().find("use one of ") != std::string::npos);
  CHECK(nonsense.err().find("worker") == std::string::npos);  // hidden
}

TEST_CASE("a number with a leading zero is refused on the command line too", "[cli]") {
  Program octal({trainctl_bin(), "generate", "nowhere", "--prompt", "x", "--tokens", "010"});
  CHECK(octal.wait() == 2);
  CHECK(octal.err().find("`010` has a leading zero") != std::string::npos);
}

TEST_CASE("versions are shown without loading LibTorch", "[cli]") {
  Program program({trainctl_bin(), "--version"});
  CHECK(program.wait() == 0);
  for (const char* const name : {"trainctl ", "LibTorch ", "CUDA ", "NCCL "}) {
    CHECK(program.out().find(name) != std::string::npos);
  }
}

TEST_CASE("help costs at most 8 MB and 10 ms of processor time", "[cli]") {
  // Processor time, since other programs on the machine stretch the wall clock; the least of five runs.
  double least_ms = 1e9;
  for (int i = 0; i < 5; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::dup2(::open("/dev/null", O_WRONLY), 1);
      const std::string bin = trainctl_bin();
      ::execl(bin.c_str(), bin.c_str(), "--help", nullptr);
      ::_exit(127);
    }
    int status = 0;
    rusage usage{};
    ::wait4(pid, &status, 0, &usage);
    REQUIRE(status == 0);
    const auto ms = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) * 1e-3;
    };
    least_ms = std::min(least_ms, ms(usage.ru_utime) + ms(usage.ru_stime));
    CHECK(usage.ru_maxrss <= 8 * 1024);  // kB
  }
  CHECK(least_ms <= 10);
}
