// tiny.h: a tokenizer.json with all bytes and a few merges, made in memory.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tokenizer/utf8.h"

namespace trainctl::tokenizer {

inline std::string json_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

/// The character that stands for byte b, as GPT-2 has it: printable bytes are themselves, the others follow
/// from U+0100.
inline std::string letter_of(uint32_t b) {
  uint32_t others = 0;
  std::string letter;
  for (uint32_t i = 0; i <= b; ++i) {
    const bool printable = (i > 0x20 && i < 0x7F) || (i > 0xA0 && i != 0xAD);
    if (i == b) append_utf8(letter, printable ? i : 256 + others);
    others += printable ? 0 : 1;
  }
  return letter;
}

struct Tiny {
  std::vector<std::array<std::string, 2>> merges;  // token 256 + i is the i-th joined
  bool merges_as_pairs = false;
  std::string pre_tokenizer = R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": true})";
  std::string added = "[]";
  std::string more_model;                // ", "key": value" pairs, each with a leading comma
  std::string more;                      // the same at the top
  std::vector<std::string> more_tokens;  // with the ids that follow the merges

  std::string json() const {
    std::string vocab;
    uint32_t id = 0;
    const auto add = [&](const std::string& token) {
      vocab += (id == 0 ? "" : ", ") + json_string(token) + ": " + std::to_string(id);
      ++id;
    };
    for (uint32_t b = 0; b < 256; ++b) add(letter_of(b));
    std::string list;
    for (const auto& [left, right] : merges) {
      add(left + right);
      list += list.empty() ? "" : ", ";
      list += merges_as_pairs ? "[" + json_string(left) + ", " + json_string(right) + "]"
                              : json_string(left + " " + right);
    }
    for (const auto& token : more_tokens) add(token);
    return R"({"version": "1.0", "normalizer": null, "pre_tokenizer": )" + pre_tokenizer +
           R"(, "decoder": {"type": "ByteLevel"}, )" + R"("added_tokens": )" + added + more +
           R"(, "model": {"type": "BPE", "dropout": null, "vocab": {)" + vocab + R"(}, "merges": [)" + list +
           "]" + more_model + "}}";
  }
};

}  // namespace trainctl::tokenizer
