#include <catch2/catch.hpp>
#include <cstdlib>

#include "job_text.h"

using namespace trainctl::spec;  // NOLINT: the tests speak the namespace's words

namespace {

std::string error_of_file(const std::filesystem::path& file, const std::vector<std::string>& sets = {}) {
  try {
    load_job_with_origins(file, sets);
  } catch (const trainctl::UserError& error) {
    return error.what();
  }
  return "";
}

// Moves into a folder and back.
class InFolder {
 public:
  explicit InFolder(const std::filesystem::path& folder) { std::filesystem::current_path(folder); }
  ~InFolder() { std::filesystem::current_path(before_); }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;

 private:
  std::filesystem::path before_ = std::filesystem::current_path();
};

}  // namespace

TEST_CASE("relative paths are taken from the job file's folder", "[spec]") {
  const Folder folder;
  folder.file("data/a.bin");
  folder.file("jobs/near.bin");
  const auto job =
      folder.file("jobs/job.yaml",
                  kGpt2 + "data: {format: tokens_u16, train: [../data/*.bin, near.bin]}\nrun_dir: out\n");
  const auto here = std::filesystem::canonical(folder.path());
  const InFolder elsewhere("/");
  const JobSpec spec = load_job(here / "jobs" / "job.yaml");
  CHECK(spec.data.train == std::vector<std::string>{here / "data/*.bin", here / "jobs/near.bin"});
  CHECK(spec.run_dir == (here / "jobs/out").string());
  CHECK(job.is_absolute());
}

TEST_CASE("paths of --set are taken from the current folder", "[spec]") {
  const Folder folder;
  folder.file("work/a.bin");
  folder.file("jobs/job.yaml", kGpt2 + "data: {format: tokens_u16}\n");
  const auto here = std::filesystem::canonical(folder.path());
  const InFolder work(here / "work");
  const JobSpec spec = load_job("../jobs/job.yaml", {"data.train=a.bin"});
  CHECK(spec.data.train == std::vector<std::string>{here / "work/a.bin"});
  CHECK(spec.run_dir == (here / "work/runs/job").string());
  CHECK(has(error_of_file("../jobs/job.yaml", {"data.train=b.bin"}),
            "paths in --set are taken from the current folder"));
}

TEST_CASE("paths that lead to nothing are found", "[spec]") {
  const Folder folder;
  folder.file("a.bin");
  std::filesystem::create_directories(folder.path() / "empty");
  const auto load = [&](const std::string& text) { return error_of_file(folder.file("job.yaml", text)); };
  const std::string tokens = kGpt2 + "data:\n  format: tokens_u16\n  train: ";
  CHECK(load(tokens + "a.bin\n").empty());
  CHECK(load(tokens + "empty\n").empty());  // a folder: what it holds is the audit's business
  CHECK(has(load(tokens + "b.bin\n"), "which does not exist"));
  CHECK(has(load(tokens + "\n    - a.bin\n    - \"*.txt\"\n"), "job.yaml:6:7: error: `data.train` names"));
  CHECK(has(load(tokens + "\n    - a.bin\n    - \"*.txt\"\n"), "which matches no file"));
  CHECK(has(load("model: {preset: gpt2-tiny, init_from: empty}\n"), "which is not a file"));
  CHECK(has(load("model: {preset: gpt2-tiny, init_from: none}\n"), "which does not exist"));
  CHECK(has(load(kGpt2 + "tokenizer: {kind: sentencepiece, path: x.model}\n"), "which does not exist"));
}

TEST_CASE("variables in paths and numbers are replaced before typing", "[spec]") {
  setenv("TRAINCTL_TEST_STEPS", "1e3", 1);
  setenv("TRAINCTL_TEST_BAD", "many", 1);
  CHECK(load_text(kMlp + "train:\n  steps: ${TRAINCTL_TEST_STEPS}\n").spec.train.steps == 1000);
  CHECK(load_text(kMlp + "train: {steps: \"${TRAINCTL_TEST_STEPS}\"}\n").spec.train.steps == 1000);
  CHECK(load_text(kMlp + "train:\n  steps: ${TRAINCTL_TEST_UNSET:-7}\n").spec.train.steps == 7);
  CHECK(load_text(kMlp + "name: a$$b\n", {"name=x"}).spec.name == "x");
  CHECK(load_text(kMlp + "run_dir: /tmp/a$$b\n").spec.run_dir == "/tmp/a$b");
  CHECK(has(errors_of(kMlp + "train:\n  steps: ${TRAINCTL_TEST_BAD}\n"),
            "`train.steps` is `many`, expected an integer (from `${TRAINCTL_TEST_BAD}`)"));
  CHECK(has(errors_of(kMlp + "train:\n  steps: ${TRAINCTL_TEST_UNSET}\n"),
            "job.yaml:3:10: error: `train.steps` uses ${TRAINCTL_TEST_UNSET}, which is not set"));
}

TEST_CASE("a job file that cannot be read is named", "[spec]") {
  const Folder folder;
  CHECK(has(error_of_file(folder.path() / "none.yaml"), "there is no such file"));
  CHECK(has(error_of_file(folder.path()), "is a folder"));
}
