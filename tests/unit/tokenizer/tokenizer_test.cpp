#include "tokenizer/tokenizer.h"

#include <catch2/catch.hpp>

#include "tokenizer/huggingface.h"
#include "tokenizer/utf8.h"
#include "unit/tokenizer/tiny.h"
#include "util/diagnostic.h"

using namespace trainctl::tokenizer;  // NOLINT: a test
using Ids = std::vector<uint32_t>;

namespace {

Ids in_parallel(const Tokenizer& tokenizer, const std::string& text, int threads, uint64_t& last_progress) {
  Ids ids;
  tokenizer.encode_parallel(
      text, threads, [&](std::span<const uint32_t> part) { ids.insert(ids.end(), part.begin(), part.end()); },
      [&](uint64_t done) {
        CHECK(done >= last_progress);
        last_progress = done;
      });
  return ids;
}

}  // namespace

TEST_CASE("the bytes tokenizer is the identity", "[tokenizer]") {
  const auto tokenizer = open_tokenizer(Kind::kBytes, "");
  Ids ids;
  tokenizer->encode(std::string("a\0\xFF", 3), ids);
  CHECK(ids == Ids{'a', 0, 255});
  CHECK(tokenizer->decode(ids) == std::string("a\0\xFF", 3));
  CHECK(tokenizer->vocab_size() == 256);
  CHECK_THROWS_AS(tokenizer->decode(Ids{256}), trainctl::UserError);
  uint64_t done = 0;
  CHECK(in_parallel(*tokenizer, std::string(3'000'000, 'x'), 4, done) == Ids(3'000'000, 'x'));
  CHECK(done == 3'000'000);
}

TEST_CASE("text is passed on in whole characters", "[tokenizer]") {
  const std::string text = "aé中😀\xFF\xC3z\xE4\xB8";
  for (size_t step = 1; step <= 5; ++step) {
    Utf8Stream stream;
    std::string out;
    for (size_t at = 0; at < text.size(); at += step) {
      const std::string part = stream.push(text.substr(at, step));
      out += part;
      CHECK(complete_utf8(part) == part.size());
    }
    CHECK(out + stream.finish() == text);
  }
  Utf8Stream stream;
  CHECK(stream.push("a\xE4").compare("a") == 0);
  CHECK(stream.push("\xB8\xAD") == "中");
}

TEST_CASE("threads give the ids that one thread gives wherever the text is cut", "[tokenizer]") {
  const Tiny tiny{.merges = {{"a", "b"}, {"x", "x"}, {"xx", "xx"}, {letter_of(' '), "ab"}, {"\\", "n"}},
                  .added = R"([{"id": 300, "content": "<end>", "normalized": false}])"};
  const auto tokenizer = parse_huggingface(tiny.json(), "tiny.json");
  // Lines; one word longer than several chunks, which no cut can part; spaces; added tokens; a long line end
  // run
  std::string lines;
  while (lines.size() < 300'000) lines += "ab xxx 12 中文\n  ab\n\n";
  const std::string text = lines + std::string(900'001, 'y') + std::string(600'000, ' ') + "<end>" + lines +
                           std::string(5000, '\n') + std::string(9999, 'x') + lines + lines;
  Ids expected;
  tokenizer->encode(text, expected);
  for (const int threads : {1, 2, 5}) {
    uint64_t done = 0;
    CHECK(in_parallel(*tokenizer, text, threads, done) == expected);
    CHECK(done == text.size());
  }
}
