#include "data/file_list.h"

#include <fmt/format.h>
#include <glob.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <set>

namespace trainctl::data {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> glob_paths(const std::string& pattern) {
  glob_t result{};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), GLOB_NOSORT, nullptr, &result) == 0) {
    paths.assign(result.gl_pathv, result.gl_pathv + result.gl_pathc);
  }
  globfree(&result);
  return paths;
}

/// Adds the file, or the files right in the folder; returns whether there was any.
bool add_path(const fs::path& path, std::set<std::string>& paths) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    paths.insert(path.string());
    return true;
  }
  bool any = false;
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    if (!entry.is_regular_file(ignored) || entry.path().filename().string().front() == '.') continue;
    paths.insert(entry.path().string());
    any = true;
  }
  return any;
}

}  // namespace

std::vector<DataFile> expand_files(const std::vector<std::string>& patterns, const std::string& key,
                                   std::vector<Diagnostic>& found) {
  std::set<std::string> paths;  // sorted, each once
  for (const auto& pattern : patterns) {
    bool any = false;
    std::error_code ignored;
    // a name that exists is that file, even where it holds characters that a glob gives a meaning
    if (fs::exists(pattern, ignored)) {
      any = add_path(pattern, paths);
    } else {
      for (const auto& path : glob_paths(pattern)) any = add_path(path, paths) || any;
    }
    if (!any) {
      found.push_back(
          {.what = fmt::format("`{}`: {} names no file", key, pattern),
           .help = "check the path; globs are expanded, folders stand for the files right in them"});
    }
  }
  std::vector<DataFile> files;
  for (const auto& path : paths) {
    std::error_code code;
    const uint64_t size = fs::file_size(path, code);
    if (code) {
      found.push_back({.at = {.file = path}, .what = "cannot be read: " + code.message()});
    } else {
      files.push_back({path, size});
    }
  }
  return files;
}

std::string list_hash(const std::vector<DataFile>& files) {
  std::string text;
  for (const auto& file : files) text += fmt::format("{}\n{}\n", file.path, file.size_bytes);
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace trainctl::data
