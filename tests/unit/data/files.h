// files.h: data files that tests write, gone at the end of the test.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "spec/job_spec.h"
#include "support/temp_dir.h"

namespace trainctl::data {

class Folder {
 public:
  std::string path(const std::string& name) const { return (dir_.path() / name).string(); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  template <class T>
  std::string write(const std::string& name, const std::vector<T>& values) const {
    return write(name, bytes_of(values));
  }
  template <class T>
  static std::string bytes_of(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
  }

 private:
  test::TempDir dir_;
};

/// 0, 1, ..., count - 1, each mod `modulus`.
template <class T>
std::vector<T> ramp(int64_t count, int64_t modulus) {
  std::vector<T> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<T>(i % modulus));
  return values;
}

/// A resolved job for a small language model over `files`.
inline spec::JobSpec token_job(spec::DataFormat format, std::vector<std::string> files, int64_t vocab = 1000,
                               int64_t seq_len = 8) {
  spec::JobSpec job;
  job.model.family = spec::ModelFamily::kGpt2;
  job.model.vocab_size = vocab;
  job.model.max_seq_len = seq_len;
  job.data.format = format;
  job.data.train = std::move(files);
  job.train.micro_batch = 2;
  return job;
}

inline spec::JobSpec image_job(spec::DataFormat format, std::vector<std::string> files,
                               std::vector<int64_t> layers) {
  spec::JobSpec job;
  job.model.family = spec::ModelFamily::kMlp;
  job.model.layer_sizes = std::move(layers);
  job.data.format = format;
  job.data.train = std::move(files);
  job.train.micro_batch = 2;
  return job;
}

/// llm.c's header, then tokens.
template <class T>
std::string llmc_bytes(const std::vector<T>& tokens, uint32_t magic, uint32_t version) {
  std::vector<uint32_t> header(256);
  header[0] = magic, header[1] = version, header[2] = static_cast<uint32_t>(tokens.size());
  return Folder::bytes_of(header) + Folder::bytes_of(tokens);
}

/// A Megatron index of sequences of these sizes, one document each.
inline std::string megatron_index(const std::vector<int32_t>& sizes, uint8_t code, int64_t width) {
  std::vector<int64_t> pointers;
  std::vector<int64_t> documents{0};
  int64_t at = 0;
  for (const int32_t size : sizes) {
    pointers.push_back(at);
    at += size * width;
    documents.push_back(static_cast<int64_t>(pointers.size()));
  }
  return std::string("MMIDIDX\0\0", 9) + Folder::bytes_of(std::vector<uint64_t>{1}) +
         static_cast<char>(code) + Folder::bytes_of(std::vector<uint64_t>{sizes.size(), documents.size()}) +
         Folder::bytes_of(sizes) + Folder::bytes_of(pointers) + Folder::bytes_of(documents);
}

/// Big-endian IDX header, then values.
inline std::string idx_bytes(const std::vector<uint32_t>& dims, const std::string& values) {
  std::string bytes{'\0', '\0', '\x08', static_cast<char>(dims.size())};
  for (const uint32_t dim : dims) {
    for (int shift = 24; shift >= 0; shift -= 8)
      bytes += static_cast<char>(dim >> static_cast<unsigned>(shift) & 0xFFU);
  }
  return bytes + values;
}

}  // namespace trainctl::data
