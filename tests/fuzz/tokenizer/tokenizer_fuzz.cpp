// tokenizer_fuzz.cpp: damaged tokenizer.json files and arbitrary text: an error for the user, or a tokenizer
// that gives every text back; nothing else.  Seeded, so a failure repeats; TRAINCTL_FUZZ_ROUNDS runs longer.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <random>

#include "tokenizer/huggingface.h"
#include "unit/tokenizer/tiny.h"
#include "util/diagnostic.h"

using namespace trainctl::tokenizer;  // NOLINT: a test

namespace {

int rounds(int otherwise) {
  const char* const given = std::getenv("TRAINCTL_FUZZ_ROUNDS");
  return given == nullptr ? otherwise : std::atoi(given);
}

std::string random_text(std::mt19937_64& random, size_t size) {
  const std::string parts[] = {" ",    "\n",   "a",  "ab",    "1",  "é",    "中",       "😀",
                               "\xFF", "\xC3", "'s", "<end>", "<e", "  \t", "x\xE4\xB8"};
  std::string text;
  while (text.size() < size)
    text +=
        random() % 8 == 0 ? std::string(1, static_cast<char>(random())) : parts[random() % std::size(parts)];
  return text;
}

}  // namespace

TEST_CASE("any bytes come back from their ids and threads agree", "[fuzz]") {
  const Tiny tiny{.merges = {{"a", "b"}, {letter_of(' '), "a"}, {letter_of(0xE4), letter_of(0xB8)}},
                  .added = R"([{"id": 300, "content": "<end>"}])"};
  const auto tokenizer = parse_huggingface(tiny.json(), "tiny.json");
  std::mt19937_64 random(1);
  for (int round = 0; round < rounds(2000); ++round) {
    const std::string text = random_text(random, random() % 200);
    std::vector<uint32_t> ids;
    tokenizer->encode(text, ids);
    INFO("round " << round);
    REQUIRE(tokenizer->decode(ids) == text);
  }
  const std::string text = random_text(random, 5'000'000);
  std::vector<uint32_t> expected;
  std::vector<uint32_t> ids;
  tokenizer->encode(text, expected);
  tokenizer->encode_parallel(text, 3, [&](auto part) { ids.insert(ids.end(), part.begin(), part.end()); },
                             {});
  REQUIRE(ids == expected);
}

TEST_CASE("a damaged tokenizer file is refused or works", "[fuzz]") {
  const std::string json = Tiny{.merges = {{"a", "b"}, {"ab", "c"}},
                                .added = R"([{"id": 300, "content": "<end>", "normalized": true}])"}
                               .json();
  std::mt19937_64 random(2);
  int refused = 0;
  for (int round = 0; round < rounds(1500); ++round) {
    std::string damaged = json;
    for (uint64_t n = random() % 3 + 1; n > 0; --n) {
      const size_t at = random() % damaged.size();
      switch (random() % 4) {
        case 0:
          damaged[at] = static_cast<char>(random());
          break;
        case 1:
          damaged.erase(at, random() % 20 + 1);
          break;
        case 2:
          damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 20));
          break;
        default:
          damaged[at] = "0123456789{}[],:\"-"[random() % 18];
          break;
      }
    }
    try {
      const auto tokenizer = parse_huggingface(damaged, "damaged.json");
      std::vector<uint32_t> ids;
      tokenizer->encode("abc <end> ab", ids);
      for (const uint32_t id : ids) REQUIRE(int64_t{id} < tokenizer->vocab_size());
      tokenizer->decode(ids);
    } catch (const trainctl::UserError&) {
      ++refused;
    }
  }
  CHECK(refused > 0);
}
