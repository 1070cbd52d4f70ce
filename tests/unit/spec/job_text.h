// job_text.h: loads a job from text in a test, or gives what is wrong with it.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "spec/load.h"

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
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "trainctl-spec-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path file(const std::string& name, const std::string& text = "x") const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace trainctl::spec
