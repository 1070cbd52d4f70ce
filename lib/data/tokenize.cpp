#include "data/tokenize.h"

#include <chrono>

#include "data/mapped_file.h"
#include "data/token_writer.h"

namespace trainctl::data {

int width_of(int64_t vocab_size) { return vocab_size <= 65536 ? 2 : 4; }

Tokenized tokenize_files(const tokenizer::Tokenizer& tokenizer, const std::vector<DataFile>& files,
                         const std::string& out, int threads, const std::function<void(uint64_t)>& progress) {
  const auto start = std::chrono::steady_clock::now();
  Tokenized result{.width = width_of(tokenizer.vocab_size())};
  TokenWriter writer(out, result.width);
  for (const auto& file : files) {
    const MappedFile text(file.path);
    if (text.size() == 0) continue;
    tokenizer.encode_parallel(
        {reinterpret_cast<const char*>(text.data()), text.size()}, threads,
        [&](std::span<const uint32_t> ids) { writer.write(ids); },
        [&](uint64_t done) {
          if (progress) progress(result.num_bytes + done);
        });
    result.num_bytes += text.size();
  }
  writer.finish();
  result.num_tokens = writer.num_tokens();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace trainctl::data
