// job_text.h: loads a job from text in a test, or gives what is wrong with it.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "spec/load.h"
#include "support/temp_dir.h"

namespace trainctl::spec {

/// A model, so that texts under test need none.
inline const std::string kMlp = "model: {preset: mlp-toy}\n";
inline const std::string kGpt2 = "model: {preset: gpt2-tiny}\n";
inline const std::string kLlama = "model: {preset: llama-tiny}\n";
inline const std::string kResnet = "model: {preset: resnet18-cifar}\n";

inline LoadedJob load_text(const std::string& text, const std::vector<std::string>& sets = {}) {
  return load_job_text(text, "job.yaml", sets);
}

/// The rendered mistakes, or "" where there are none.
inline std::string errors_of(const std::string& text, const std::vector<std::string>& sets = {}) {
  try {
    load_text(text, sets);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

inline size_t num_errors(const std::string& text, const std::vector<std::string>& sets = {}) {
  try {
    load_text(text, sets);
  } catch (const UserError& error) {
    return error.diagnostics().size();
  }
  return 0;
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A folder that is gone at the end of the test.
class Folder {
 public:
  const std::filesystem::path& path() const { return dir_.path(); }
  std::filesystem::path file(const std::string& name, const std::string& text = "x") const {
    std::filesystem::create_directories((dir_.path() / name).parent_path());
    std::ofstream(dir_.path() / name, std::ios::binary) << text;
    return dir_.path() / name;
  }

 private:
  test::TempDir dir_;
};

}  // namespace trainctl::spec
