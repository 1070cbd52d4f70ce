// tokenizer_parity_test.cpp: 1 MB of mixed text gives the ids that Python's packages give, one for one.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <ctime>
#include <iostream>

#include "tokenizer/tokenizer.h"
#include "unit/data/files.h"

using namespace trainctl;  // NOLINT: a test
using Ids = std::vector<uint32_t>;

namespace {

std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

Ids ids_in(const std::string& path) {
  const std::string bytes = slurp(path);
  Ids ids(bytes.size() / 4);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(ids.data()));
  return ids;
}

/// The folder that make_tokenizers.py filled; ends the test as skipped where there is no oracle.
const data::Folder& made() {
  static const data::Folder folder;
  static bool done = false;
  if (done) return folder;
  const std::string source = std::getenv("TRAINCTL_SOURCE_DIR");
  const char* const given = std::getenv("TRAINCTL_ORACLE");
  const std::string python = given != nullptr ? given : source + "/.deps/oracle/bin/python";
  if (!std::filesystem::exists(python)) {
    std::cout << "skipped: the oracle's Python is not at " << python << " (scripts/setup.sh --oracle)\n";
    std::exit(77);
  }
  const std::string command =
      "'" + python + "' '" + source + "/tests/integration/data/make_tokenizers.py' '" + folder.path("") + "'";
  REQUIRE(std::system(command.c_str()) == 0);
  done = true;
  return folder;
}

void compare(const Ids& got, const Ids& expected) {
  const auto differ = std::mismatch(got.begin(), got.end(), expected.begin(), expected.end());
  INFO("first difference at id " << differ.first - got.begin());
  CHECK(got.size() == expected.size());
  CHECK((differ.first == got.end() && differ.second == expected.end()));
}

}  // namespace

TEST_CASE("byte-level BPE gives the ids of the tokenizers package on a megabyte of mixed text",
          "[tokenizer]") {
  const std::string text = slurp(made().path("mixed.txt"));
  REQUIRE(text.size() > 1'000'000);
  for (const std::string name : {"gpt2", "llama3", "prefix"}) {
    INFO(name);
    const auto tokenizer =
        tokenizer::open_tokenizer(tokenizer::Kind::kHuggingface, made().path(name + ".json"));
    const Ids expected = ids_in(made().path(name + ".ids"));
    REQUIRE(expected.size() > 100'000);
    Ids ids;
    tokenizer->encode(text, ids);
    compare(ids, expected);
    Ids parallel;
    tokenizer->encode_parallel(
        text, 3, [&](auto part) { parallel.insert(parallel.end(), part.begin(), part.end()); }, {});
    compare(parallel, expected);
    if (name != "prefix") CHECK(tokenizer->decode(ids) == text);
  }
}

TEST_CASE("SentencePiece models give the ids of the sentencepiece package", "[tokenizer]") {
  const std::string text = slurp(made().path("sp.txt"));
  for (const std::string name : {"unigram", "bpe"}) {
    INFO(name);
    const auto tokenizer =
        tokenizer::open_tokenizer(tokenizer::Kind::kSentencepiece, made().path(name + ".model"));
    CHECK(tokenizer->vocab_size() == 2000);
    Ids ids;
    tokenizer->encode(text, ids);
    const Ids expected = ids_in(made().path(name + ".ids"));
    if (name == "bpe") {
      compare(ids, expected);
    } else {
      // A unigram model takes the cut of the highest score.  Some cuts are equal (of "======", say), and the
      // package's version of the library chooses another of them than Debian's; so the scores are compared.
      // 1e-6: of the sum of 30,000 float32 scores added in double only their own rounding is left.
      const std::string bytes = slurp(made().path("unigram.scores"));
      std::vector<float> scores(bytes.size() / 4);
      std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(scores.data()));
      const auto sum = [&](const Ids& list) {
        double total = 0;
        for (const uint32_t id : list) total += scores.at(id);
        return total;
      };
      CHECK(sum(ids) == Approx(sum(expected)).epsilon(1e-6));
    }
    CHECK(tokenizer->decode(ids) == slurp(made().path(name + ".txt")));
  }
}
