// file_list.h: which files a job reads, in which order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "util/diagnostic.h"

namespace trainctl::data {

struct DataFile {
  std::string path;
  uint64_t size_bytes = 0;
};

/// The files that the patterns (files, folders, globs) name, sorted by path as bytes, each once: the same
/// list on every rank, whatever order the file system lists them in.  A folder stands for the regular files
/// right in it, hidden ones left out.  A pattern that names nothing is an error in `found`, named `key`.
std::vector<DataFile> expand_files(const std::vector<std::string>& patterns, const std::string& key,
                                   std::vector<Diagnostic>& found);

/// Hash (XXH3-128, hex) of the paths and sizes, in order.  Ranks compare it before they trust equal sample
/// numbers.
std::string list_hash(const std::vector<DataFile>& files);

}  // namespace trainctl::data
