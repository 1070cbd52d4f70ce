#include "tokenizer/huggingface.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tokenizer/byte_level.h"
#include "tokenizer/utf8.h"
#include "util/diagnostic.h"

namespace trainctl::tokenizer {

namespace {

using Json = nlohmann::json;

// The pattern of ByteLevel with use_regex: GPT-2's, from its published encoder.
constexpr const char* kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// GPT-2's alphabet: the character that stands for each byte in vocab and merges.  Printable ones stand for
/// themselves, the others, in order, for U+0100 and on.
std::array<uint32_t, 256> byte_alphabet() {
  std::array<uint32_t, 256> alphabet{};
  uint32_t next = 256;
  for (uint32_t b = 0; b < 256; ++b) {
    const bool printable = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    alphabet[b] = printable ? b : next++;
  }
  return alphabet;
}

class Reader {
 public:
  Reader(const std::string& json, const std::string& name) : name_(name) {
    for (uint32_t b = 0; b < 256; ++b) {
      std::string character;
      append_utf8(character, kAlphabet[b]);
      byte_of_[character] = static_cast<char>(b);
    }
    parts_.identity = fmt::format("huggingface-{:016x}", XXH3_64bits(json.data(), json.size()));
    Json file;
    try {
      file = Json::parse(json);
    } catch (const Json::exception& error) {
      fail(fmt::format("is no JSON: {}", error.what()));
    }
    try {
      read(file);
    } catch (const Json::exception& error) {
      fail(fmt::format("is not laid out as a tokenizer.json: {}", error.what()));
    }
  }

  ByteLevelParts take() { return std::move(parts_); }

 private:
  [[noreturn]] void fail(std::string what, std::string help = "") const {
    throw UserError({.at = {.file = name_}, .what = std::move(what), .help = std::move(help)});
  }
  [[noreturn]] void refuse(const std::string& part, const Json& value) const {
    fail(fmt::format("`{}` is {}, which is not supported", part, value.dump().substr(0, 120)),
         "supported are byte-level BPE tokenizers as of GPT-2 and Llama 3; or tokenise elsewhere and use "
         "`data.format: tokens_u32`");
  }

  static Json get(const Json& object, const char* key) {
    return object.contains(key) ? object.at(key) : Json();
  }
  static bool flag(const Json& object, const char* key, bool otherwise) {
    return object.value(key, otherwise);
  }

  void read(const Json& file) {
    if (!file.is_object() || !file.contains("model")) fail("is no tokenizer.json: it has no `model`");
    for (const char* const part : {"normalizer", "truncation", "padding"}) {
      const Json value = get(file, part);
      const bool nothing = value.is_null() || (value.is_object() && value.value("type", "") == "Sequence" &&
                                               value.at("normalizers").empty());
      if (!nothing) refuse(part, value);
    }
    const Json decoder = get(file, "decoder");
    if (!decoder.is_null() && decoder.at("type") != "ByteLevel") refuse("decoder", decoder);
    read_pre_tokenizer(get(file, "pre_tokenizer"));
    read_model(file.at("model"));
    for (const Json& token : get(file, "added_tokens")) read_added(token);
  }

  void read_pre_tokenizer(const Json& pre) {
    std::vector<Json> steps;
    if (pre.is_object() && pre.value("type", "") == "Sequence") {
      steps = pre.at("pretokenizers").get<std::vector<Json>>();
    } else {
      steps.push_back(pre);
    }
    if (steps.size() > 2 || !steps.back().is_object() || steps.back().at("type") != "ByteLevel")
      refuse("pre_tokenizer", pre);
    const Json& byte_level = steps.back();
    parts_.add_prefix_space = flag(byte_level, "add_prefix_space", true);
    const bool own_pattern = flag(byte_level, "use_regex", true);
    if (steps.size() == 1) {
      if (own_pattern) parts_.splitter.emplace(kGpt2Pattern);
      return;
    }
    const Json& split = steps.front();
    if (split.at("type") != "Split" || own_pattern || parts_.add_prefix_space) refuse("pre_tokenizer", pre);
    if (split.at("behavior") != "Isolated" || flag(split, "invert", false) ||
        !split.at("pattern").contains("Regex")) {
      refuse("pre_tokenizer.Split", split);
    }
    try {
      parts_.splitter.emplace(split.at("pattern").at("Regex").get<std::string>());
    } catch (const UserError& error) {
      fail(error.diagnostics().front().what, error.diagnostics().front().help);
    }
  }

  /// The bytes that a string of the alphabet stands for; as HF does, a string with any other character stands
  /// for its own bytes.
  std::string bytes_of(const std::string& token) const {
    std::string bytes;
    for (size_t at = 0; at < token.size();) {
      const size_t length =
          static_cast<unsigned char>(token[at]) < 0x80 ? 1 : 2;  // the alphabet ends below U+0800
      const auto found = byte_of_.find(token.substr(at, length));
      if (found == byte_of_.end()) return token;
      bytes += found->second;
      at += length;
    }
    return bytes;
  }

  void name_id(uint64_t id, const std::string& bytes) {
    if (id >= uint64_t{1} << 24U) fail(fmt::format("has a token of id {}; ids end below 2^24", id));
    if (id >= parts_.bytes_of.size()) parts_.bytes_of.resize(id + 1), parts_.known.resize(id + 1);
    parts_.bytes_of[id] = bytes;
    parts_.known[id] = true;
  }

  void read_model(const Json& model) {
    if (model.value("type", "BPE") != "BPE") refuse("model.type", model.at("type"));
    for (const char* const key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
      const Json value = get(model, key);
      if (!value.is_null() && value != "" && value != 0.0) refuse(std::string("model.") + key, value);
    }
    if (flag(model, "byte_fallback", false)) refuse("model.byte_fallback", true);
    Bpe& bpe = parts_.bpe;
    bpe.ignore_merges = flag(model, "ignore_merges", false);
    for (const auto& [token, id] : model.at("vocab").items()) {
      vocab_[token] = id.get<uint32_t>();
      const std::string bytes = bytes_of(token);
      name_id(id.get<uint32_t>(), bytes);
      bpe.vocabulary[bytes] = id.get<uint32_t>();
    }
    for (uint32_t b = 0; b < 256; ++b) {
      const auto found = bpe.vocabulary.find(std::string(1, static_cast<char>(b)));
      if (found == bpe.vocabulary.end())
        fail(fmt::format("has no token for byte {:#04x}", b),
             "only byte-level vocabularies with all 256 bytes are supported");
      bpe.byte_ids[b] = found->second;
    }
    const Json& merges = model.at("merges");
    bpe.reserve_merges(merges.size());
    uint32_t rank = 0;
    for (const Json& merge : merges) read_merge(merge, rank++);
  }

  void read_merge(const Json& merge, uint32_t rank) {
    std::string left;
    std::string right;
    if (merge.is_array() && merge.size() == 2) {
      left = merge[0].get<std::string>(), right = merge[1].get<std::string>();
    } else {
      const auto text = merge.get<std::string>();
      const size_t space = text.find(' ');
      if (space == std::string::npos) fail(fmt::format("merge {} is `{}`, not two tokens", rank, text));
      left = text.substr(0, space), right = text.substr(space + 1);
    }
    const auto id = [&](const std::string& token) {
      const auto found = vocab_.find(token);
      if (found == vocab_.end())
        fail(fmt::format("merge {} names `{}`, which is not in the vocabulary", rank, token));
      return found->second;
    };
    parts_.bpe.add_merge(id(left), id(right), {rank, id(left + right)});
  }

  void read_added(const Json& token) {
    AddedToken added{token.at("content").get<std::string>(), token.at("id").get<uint32_t>(),
                     flag(token, "normalized", true)};
    for (const char* const key : {"single_word", "lstrip", "rstrip"}) {
      if (flag(token, key, false)) refuse(fmt::format("added_tokens.{}", key), token);
    }
    name_id(added.id, added.content);
    parts_.added.push_back(std::move(added));
  }

  static const std::array<uint32_t, 256> kAlphabet;
  std::string name_;
  std::unordered_map<std::string, char> byte_of_;
  std::unordered_map<std::string, uint32_t> vocab_;  // as written
  ByteLevelParts parts_;
};

const std::array<uint32_t, 256> Reader::kAlphabet = byte_alphabet();

}  // namespace

std::unique_ptr<Tokenizer> parse_huggingface(const std::string& json, const std::string& name) {
  return make_byte_level(Reader(json, name).take());
}

std::unique_ptr<Tokenizer> open_huggingface(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file)
    throw UserError({.at = {.file = path}, .what = "cannot be read", .help = "name a tokenizer.json"});
  return parse_huggingface(text.str(), path);
}

}  // namespace trainctl::tokenizer
