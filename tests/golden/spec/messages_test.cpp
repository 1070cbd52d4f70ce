// Each NAME.yaml here is a job; NAME.txt is what `trainctl validate --explain` says about it.  Lines `# --set
// WORD` in the job stand for options of the command line.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "spec/load.h"
#include "support/golden.h"

namespace {

namespace fs = std::filesystem;

std::vector<std::string> sets_of(const std::string& text) {
  static const std::string kMark = "# --set ";
  std::vector<std::string> sets;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kMark)) sets.push_back(line.substr(kMark.size()));
  }
  return sets;
}

std::string said_about(const fs::path& file) {
  std::string said;
  try {
    const auto job = trainctl::spec::load_job_with_origins(file, sets_of(trainctl::test::read_file(file)));
    for (const auto& note : job.notes) said += render(note);
    said += to_yaml(job.spec, job.origins);
  } catch (const trainctl::UserError& error) {
    said = error.what();
  }
  // Absolute paths differ between machines, and with them the room before an origin's comment.
  const std::string here = fs::current_path().string();
  for (size_t at = said.find(here); at != std::string::npos; at = said.find(here))
    said.replace(at, here.size(), "HERE");
  for (size_t at = said.find("  # "); at != std::string::npos; at = said.find("  # ")) said.erase(at, 1);
  return said;
}

}  // namespace

TEST_CASE("each job of the golden folder says what it should", "[spec]") {
  const char* const source = std::getenv("TRAINCTL_SOURCE_DIR");
  REQUIRE(source != nullptr);
  fs::current_path(fs::path(source) / "tests/golden/spec");
  unsetenv("TRAINCTL_UNSET");
  std::vector<fs::path> jobs;
  for (const auto& entry : fs::directory_iterator(".")) {
    if (entry.path().extension() == ".yaml") jobs.push_back(entry.path().filename());
  }
  CHECK(jobs.size() >= 8);
  for (const fs::path& job : jobs) {
    fs::path expected = job;
    CHECK(trainctl::test::golden(fs::absolute(expected.replace_extension(".txt")), said_about(job)) == "");
  }
}
