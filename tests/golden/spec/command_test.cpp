// `trainctl validate` and `trainctl schema` as a shell sees them: exit codes, and what goes to which stream.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/golden.h"

namespace {

namespace fs = std::filesystem;

struct Ended {
  int code = -1;
  std::string out, err;
};

// Runs trainctl in this folder.
Ended run(const std::string& arguments) {
  const char* const binary = std::getenv("TRAINCTL_BIN");
  const char* const source = std::getenv("TRAINCTL_SOURCE_DIR");
  REQUIRE(binary != nullptr);
  REQUIRE(source != nullptr);
  const fs::path err = fs::temp_directory_path() / ("trainctl-golden-" + std::to_string(getpid()));
  const std::string command = "cd '" + std::string(source) + "/tests/golden/spec' && NO_COLOR=1 '" + binary +
                              "' " + arguments + " 2>'" + err.string() + "'";
  Ended ended;
  FILE* const pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  char buffer[4096];
  for (size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) ended.out.append(buffer, n);
  const int status = pclose(pipe);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  ended.err = trainctl::test::read_file(err);
  fs::remove(err);
  return ended;
}

}  // namespace

TEST_CASE("validate prints the resolved job to stdout and ends with 0", "[cli]") {
  const Ended plain = run("validate ../../../configs/smoke-mlp.yaml --set seed=3 --set seed=4");
  CHECK(plain.code == 0);
  CHECK(plain.out.find("seed: 4\n") != std::string::npos);
  CHECK(plain.err == "--set #1: note: `seed` is set again by --set #2, which wins\n");
  const Ended explained = run("validate ../../../configs/smoke-mlp.yaml --explain");
  CHECK(explained.out.find("# preset mlp-toy\n") != std::string::npos);
  const Ended json = run("validate ../../../configs/smoke-mlp.yaml --json");
  CHECK(json.code == 0);
  CHECK(json.out.starts_with("{\n  \"schema\": \"trainctl.spec/1\","));
  CHECK(json.err.empty());
}

TEST_CASE("validate prints every mistake to stderr and ends with 2", "[cli]") {
  const Ended ended = run("validate second_document.yaml");
  CHECK(ended.code == 2);
  CHECK(ended.out.empty());
  CHECK(ended.err == trainctl::test::read_file(fs::path(std::getenv("TRAINCTL_SOURCE_DIR")) /
                                               "tests/golden/spec/second_document.txt"));
  CHECK(run("validate absent.yaml").code == 2);
  CHECK(run("validate").code == 2);
}

TEST_CASE("schema prints the reference and the JSON Schema", "[cli]") {
  const Ended markdown = run("schema");
  CHECK(markdown.code == 0);
  CHECK(trainctl::test::golden(fs::path(std::getenv("TRAINCTL_SOURCE_DIR")) / "configs/SCHEMA.md",
                               markdown.out) == "");
  const Ended json = run("schema --json");
  CHECK(json.code == 0);
  CHECK(json.out.find("https://json-schema.org/draft/2020-12/schema") != std::string::npos);
}
