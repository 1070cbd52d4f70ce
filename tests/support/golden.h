// golden.h: compares text with a file of expected text.  TRAINCTL_UPDATE_GOLDEN=1 writes the file instead.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "support/files.h"

namespace trainctl::test {

/// "" where `actual` is what `file` holds, else the first line that differs.  Use: CHECK(golden(file, text)
/// == "").
inline std::string golden(const std::filesystem::path& file, const std::string& actual) {
  const char* const update = std::getenv("TRAINCTL_UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << actual;
    return "";
  }
  if (!std::filesystem::exists(file))
    return file.string() + " is missing; TRAINCTL_UPDATE_GOLDEN=1 writes it";
  const std::string expected = read_file(file);
  if (expected == actual) return "";
  std::istringstream left(expected), right(actual);
  std::string want, have;
  for (int line = 1;; ++line) {
    const bool more_left = static_cast<bool>(std::getline(left, want));
    const bool more_right = static_cast<bool>(std::getline(right, have));
    if (more_left && more_right && want == have) continue;
    if (!more_left && !more_right) return file.string() + ": only the line ends differ";
    return file.string() + ":" + std::to_string(line) + "\n  expected: " + (more_left ? want : "(end)") +
           "\n  actual:   " + (more_right ? have : "(end)") +
           "\n  TRAINCTL_UPDATE_GOLDEN=1 rewrites the file";
  }
}

}  // namespace trainctl::test
