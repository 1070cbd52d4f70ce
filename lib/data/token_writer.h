// token_writer.h: a raw token file (tokens_u16, tokens_u32) that is either whole or not there.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "util/fd.h"

namespace trainctl::data {

/// Writes beside `path` and renames in finish(); a writer that is destroyed before leaves nothing behind.
/// Throws InfraError (disk full, no permission).
class TokenWriter {
 public:
  TokenWriter(std::string path, int width);  // 2 or 4 bytes a token
  TokenWriter(const TokenWriter&) = delete;
  TokenWriter& operator=(const TokenWriter&) = delete;
  ~TokenWriter();

  void write(std::span<const uint32_t> ids);  // each must fit into `width`
  void finish();
  uint64_t num_tokens() const { return num_tokens_; }

 private:
  void flush();
  [[noreturn]] void fail(const char* doing) const;

  std::string path_, temporary_;
  int width_;
  Fd fd_;
  std::vector<char> buffer_;
  uint64_t num_tokens_ = 0;
};

}  // namespace trainctl::data
