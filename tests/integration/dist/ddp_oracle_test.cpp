// Against PyTorch's DistributedDataParallel; 77, with the reason printed, where the oracle is absent.
#include <cstdio>
#include <cstdlib>

#include "integration/dist/ranks.h"

using namespace trainctl::test;

namespace {

std::string source_dir() {
  const char* const dir = std::getenv("TRAINCTL_SOURCE_DIR");
  return dir == nullptr ? "." : dir;
}

std::string oracle_or_skip() {
  const char* const given = std::getenv("TRAINCTL_ORACLE");
  std::string python = given != nullptr ? given : source_dir() + "/.deps/oracle/bin/python";
  if (access(python.c_str(), X_OK) == 0) return python;
  std::printf("SKIPPED: there is no oracle at %s (scripts/setup.sh --oracle)\n", python.c_str());
  std::fflush(stdout);
  std::_Exit(77);
}

const std::string kOracle = oracle_or_skip();

}  // namespace

TEST_CASE("three ranks train to the same bits as PyTorch's DistributedDataParallel", "[dist]") {
  const std::vector<Ended> ours = run_ranks(3, "ddp", "60");
  int port = 0;
  {
    const Listener free_port;
    port = free_port.port;
  }
  const std::string command =
      kOracle + " " + source_dir() + "/tests/integration/dist/ddp_oracle.py 3 " + std::to_string(port);
  FILE* const oracle = popen(command.c_str(), "r");
  REQUIRE(oracle != nullptr);
  std::array<char, 4096> theirs{};
  const size_t size = fread(theirs.data(), 1, theirs.size() - 1, oracle);
  INFO("PyTorch: " << std::string(theirs.data(), size));
  CHECK(pclose(oracle) == 0);
  for (const Ended& end : ours) {
    INFO(end.out);
    CHECK(exited(end, 0));
    CHECK(end.out.starts_with("checksum "));
    CHECK(std::string(theirs.data(), size) == end.out + end.out + end.out);
  }
}
