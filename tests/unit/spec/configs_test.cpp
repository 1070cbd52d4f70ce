#include <catch2/catch.hpp>
#include <cstdlib>

#include "job_text.h"

using namespace trainctl::spec;  // NOLINT: the tests speak the namespace's words

TEST_CASE("every job in configs is valid once its data is there", "[spec]") {
  const char* const source = std::getenv("TRAINCTL_SOURCE_DIR");
  REQUIRE(source != nullptr);
  const Folder data;  // the shape of each job's data; validation asks only that files exist
  for (const char* name :
       {"train/a.bin", "eval/a.bin", "data_batch_1.bin", "test_batch.bin", "a.txt", "w.safetensors"})
    data.file(name);
  setenv("DATA_DIR", data.path().c_str(), 1);
  setenv("LLAMA_WEIGHTS", (data.path() / "w.safetensors").c_str(), 1);
  int jobs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(source) / "configs")) {
    if (entry.path().extension() != ".yaml") continue;
    CAPTURE(entry.path().string());
    ++jobs;
    std::vector<std::string> sets;
    if (entry.path().stem() == "quickstart") sets = {"data.train=" + (data.path() / "a.txt").string()};
    const std::string errors = [&]() -> std::string {
      try {
        const JobSpec spec = load_job_with_origins(entry.path(), sets).spec;
        const std::string yaml = to_yaml(spec);
        return to_yaml(load_job_text(yaml, "/elsewhere/spec.yaml").spec) == yaml
                   ? ""
                   : "does not survive printing";
      } catch (const trainctl::UserError& error) {
        return error.what();
      }
    }();
    CHECK(errors == "");
    const bool smoke = entry.path().stem().string().starts_with("smoke");
    if (smoke) CHECK(load_job(entry.path()).data.format == DataFormat::kSynthetic);
  }
  CHECK(jobs >= 8);
}
