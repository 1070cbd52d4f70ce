// files.h: whole files as text.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace trainctl::test {

inline std::string read_file(const std::filesystem::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

inline void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace trainctl::test
