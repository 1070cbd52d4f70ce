// `trainctl validate` and `trainctl schema` as a shell sees them: exit codes, and what goes to which stream.

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/golden.h"
#include "support/program.h"

namespace {

namespace fs = std::filesystem;

struct Ended {
  int code = -1;
  std::string out, err;
};

// Runs trainctl in this folder; `arguments` as a shell reads them.
Ended run(const std::string& arguments) {
  const char* const source = std::getenv("TRAINCTL_SOURCE_DIR");
  REQUIRE(source != nullptr);
  trainctl::test::Program program({"sh", "-c", "exec \"$0\" " + arguments, trainctl::test::trainctl_bin()},
                                  {"NO_COLOR=1"}, fs::path(source) / "tests/golden/spec");
  return {program.wait(), program.out(), program.err()};
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
