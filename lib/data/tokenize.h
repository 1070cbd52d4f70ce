// tokenize.h: text files to one raw token file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/file_list.h"
#include "tokenizer/tokenizer.h"

namespace trainctl::data {

struct Tokenized {
  uint64_t num_bytes = 0, num_tokens = 0;
  int width = 2;  // bytes a token: 2 where the vocabulary fits (tokens_u16), else 4 (tokens_u32)
  double seconds = 0;
};

/// Encodes the files one after the other (no token spans two) into `out`, which is replaced when all is done.
/// `progress` hears the bytes done of all files, from the calling thread.  Throws UserError, InfraError.
Tokenized tokenize_files(const tokenizer::Tokenizer& tokenizer, const std::vector<DataFile>& files,
                         const std::string& out, int threads, const std::function<void(uint64_t)>& progress);

/// Bytes a token that a vocabulary needs in a raw file.
int width_of(int64_t vocab_size);

}  // namespace trainctl::data
