#include "tokenizer/huggingface.h"

#include <catch2/catch.hpp>

#include "tokenizer/bpe.h"
#include "unit/tokenizer/tiny.h"
#include "util/diagnostic.h"

using namespace trainctl::tokenizer;  // NOLINT: a test
using Ids = std::vector<uint32_t>;

namespace {

Ids encode(const Tokenizer& tokenizer, const std::string& text) {
  Ids ids;
  tokenizer.encode(text, ids);
  return ids;
}

Ids encode(const Tiny& tiny, const std::string& text) {
  return encode(*parse_huggingface(tiny.json(), "tiny.json"), text);
}

std::string error_of(const std::string& json) {
  try {
    parse_huggingface(json, "tiny.json");
  } catch (const trainctl::UserError& error) {
    return error.what();
  }
  return "";
}

const std::string kSpace = letter_of(' ');  // "Ġ"

}  // namespace

TEST_CASE("the alphabet is that of GPT-2", "[huggingface]") {
  CHECK(letter_of(' ') == "Ġ");
  CHECK(letter_of('\n') == "Ċ");
  CHECK(letter_of('a') == "a");
  CHECK(letter_of(0xAD) == "Ń");
}

TEST_CASE("merges apply by rank and then from the left", "[huggingface]") {
  Tiny tiny{.merges = {{"b", "c"}, {"a", "b"}, {"a", "a"}}};
  for (const bool pairs : {false, true}) {
    tiny.merges_as_pairs = pairs;
    CHECK(encode(tiny, "abc") == Ids{'a', 256});  // bc before ab
    CHECK(encode(tiny, "abab") == Ids{257, 257});
    CHECK(encode(tiny, "aaa") == Ids{258, 'a'});
  }
}

TEST_CASE("merges do not cross the pieces of the pattern", "[huggingface]") {
  const Tiny tiny{.merges = {{"a", kSpace}, {kSpace, "b"}}};
  CHECK(encode(tiny, "a b") == Ids{'a', 257});
  CHECK(encode(tiny, "a  b") == Ids{'a', ' ', 257});  // of two spaces the second goes with the word
}

TEST_CASE("long pieces give the ids that the search over all pairs gives", "[huggingface]") {
  // The heap serves pieces of more than 48 tokens, the simple search shorter ones; here both, of the same
  // text.
  Bpe bpe;
  for (uint32_t b = 0; b < 256; ++b) bpe.byte_ids[b] = b;
  uint32_t rank = 0;
  bpe.reserve_merges(8);
  for (const auto& [left, right] : std::vector<std::pair<uint32_t, uint32_t>>{
           {'b', 'a'}, {256, 'b'}, {'a', 'a'}, {258, 258}, {257, 258}, {'c', 'a'}, {259, 256}, {'b', 'b'}}) {
    bpe.add_merge(left, right, {rank, 256 + rank});
    ++rank;
  }
  uint64_t state = 1;
  for (int round = 0; round < 200; ++round) {
    std::string text;
    while (text.size() < 40)
      state = state * 6364136223846793005ULL + 1, text += static_cast<char>('a' + (state >> 60U) % 3);
    Ids parts;
    Ids whole;
    for (int i = 0; i < 3; ++i) bpe.encode(text + "x", parts);  // x merges with nothing: it parts the pieces
    bpe.encode(text + "x" + text + "x" + text + "x", whole);
    REQUIRE(parts == whole);
  }
}

TEST_CASE("added tokens are found in the text and the longest of several wins", "[huggingface]") {
  const Tiny tiny{.merges = {{"a", "b"}},
                  .added = R"([{"id": 300, "content": "<x>", "special": true, "normalized": false},
                               {"id": 301, "content": "<x><x>", "special": true, "normalized": false},
                               {"id": 302, "content": "b<", "special": false, "normalized": true}])"};
  const auto tokenizer = parse_huggingface(tiny.json(), "tiny.json");
  CHECK(encode(*tokenizer, "ab<x>ab") == Ids{256, 300, 256});
  CHECK(encode(*tokenizer, "<x><x><x>") == Ids{301, 300});
  CHECK(encode(*tokenizer, "ab<y>") == Ids{'a', 302, 'y', '>'});
  CHECK(encode(*tokenizer, "ab<x>") ==
        Ids{256, 300});  // b< is looked for after the tokens that are not normalized
  CHECK(tokenizer->vocab_size() == 303);
  CHECK(tokenizer->decode(Ids{256, 301, 302}) == "ab<x><x>b<");
  CHECK_THROWS_AS(tokenizer->decode(Ids{299}), trainctl::UserError);
}

TEST_CASE("a Split pattern cuts before the bytes are looked up", "[huggingface]") {
  const Tiny tiny{.merges = {{"1", "2"}, {"3", "4"}},
                  .pre_tokenizer = R"({"type": "Sequence", "pretokenizers": [
                      {"type": "Split", "pattern": {"Regex": "\\p{N}{1,3}|\\p{L}+"}, "behavior": "Isolated", "invert": false},
                      {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]})"};
  CHECK(encode(tiny, "1234") == Ids{256, '3', '4'});
  CHECK(encode(tiny, "12+34") == Ids{256, '+', 257});  // what no match covers is a piece too
}

TEST_CASE("ignore_merges takes a piece that is in the vocabulary as it is", "[huggingface]") {
  Tiny tiny{.merges = {{"a", "b"}}, .more_tokens = {"abc"}};
  CHECK(encode(tiny, "abc") == Ids{256, 'c'});
  tiny.more_model = R"(, "ignore_merges": true)";
  CHECK(encode(tiny, "abc") == Ids{257});
}

TEST_CASE("a prefix space is added to text that does not begin with one", "[huggingface]") {
  const Tiny tiny{.merges = {{kSpace, "a"}},
                  .pre_tokenizer = R"({"type": "ByteLevel", "add_prefix_space": true})"};
  CHECK(encode(tiny, "a") == Ids{256});
  CHECK(encode(tiny, " a") == Ids{256});
  CHECK(encode(tiny, "").empty());
}

TEST_CASE("bytes that are no UTF-8 survive encoding and decoding", "[huggingface]") {
  const auto tokenizer = parse_huggingface(Tiny{}.json(), "tiny.json");
  const std::string text = "ab\xFF\xC3 c\xE4\xB8 \xF0\x9F\x98\x80\x80";
  CHECK(tokenizer->decode(encode(*tokenizer, text)) == text);
}

TEST_CASE("what would change the ids and is not supported is refused by name", "[huggingface]") {
  const auto refused = [](const Tiny& tiny) { return error_of(tiny.json()); };
  CHECK(refused({.more = R"(, "padding": {"strategy": "BatchLongest"})"}).find("`padding` is") !=
        std::string::npos);
  CHECK(refused({.more = R"(, "truncation": {"max_length": 3})"}).find("`truncation` is") !=
        std::string::npos);
  CHECK(refused({.pre_tokenizer = R"({"type": "Whitespace"})"})
            .find("`pre_tokenizer` is {\"type\":\"Whitespace\"}") != std::string::npos);
  CHECK(refused({.pre_tokenizer = "null"}).find("`pre_tokenizer` is null") != std::string::npos);
  CHECK(refused({.more_model = R"(, "byte_fallback": true)"}).find("`model.byte_fallback`") !=
        std::string::npos);
  CHECK(refused({.more_model = R"(, "end_of_word_suffix": "</w>")"}).find("`model.end_of_word_suffix`") !=
        std::string::npos);
  CHECK(
      refused({.added = R"([{"id": 300, "content": "m", "lstrip": true}])"}).find("`added_tokens.lstrip`") !=
      std::string::npos);
  std::string nfc = Tiny{}.json();
  nfc.replace(nfc.find("\"normalizer\": null"), 18, "\"normalizer\": {\"type\": \"NFC\"}");
  CHECK(error_of(nfc).find("tiny.json: error: `normalizer` is {\"type\":\"NFC\"}, which is not supported") !=
        std::string::npos);
}

TEST_CASE("broken files are refused with what is wrong", "[huggingface]") {
  CHECK(error_of("{").find("is no JSON") != std::string::npos);
  CHECK(error_of("[1]").find("has no `model`") != std::string::npos);
  CHECK(error_of(R"({"model": {"type": "WordPiece"}, "pre_tokenizer": {"type": "ByteLevel"}})")
            .find("`model.type` is \"WordPiece\"") != std::string::npos);
  std::string missing = Tiny{.merges = {{"a", "b"}}}.json();
  missing.replace(missing.find("\"ab\": 256"), 9, "\"ax\": 256");
  CHECK(error_of(missing).find("merge 0 names `ab`, which is not in the vocabulary") != std::string::npos);
  CHECK_THROWS_AS(open_tokenizer(Kind::kHuggingface, "/nonexistent/tokenizer.json"), trainctl::UserError);
}
