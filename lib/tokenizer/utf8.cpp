#include "tokenizer/utf8.h"

#include <utility>

namespace trainctl::tokenizer {

namespace {

/// Bytes of the character that `first` begins; 1 for a byte that begins none.
size_t length_of(unsigned char first) {
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (first >= 0xE0 && first <= 0xEF) return 3;
  if (first >= 0xF0 && first <= 0xF4) return 4;
  return 1;
}

}  // namespace

size_t complete_utf8(std::string_view text) {
  // Only the last three bytes can belong to a character that is not complete.
  for (size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0U) == 0x80U) continue;
    return length_of(byte) > back ? text.size() - back : text.size();
  }
  return text.size();
}

std::string Utf8Stream::push(std::string_view bytes) {
  pending_ += bytes;
  std::string rest = pending_.substr(complete_utf8(pending_));
  pending_.resize(pending_.size() - rest.size());
  return std::exchange(pending_, std::move(rest));
}

std::string Utf8Stream::finish() { return std::exchange(pending_, {}); }

void append_utf8(std::string& text, uint32_t c) {
  const auto put = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6U), put(0x80 | (c & 0x3FU));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12U), put(0x80 | (c >> 6U & 0x3FU)), put(0x80 | (c & 0x3FU));
  } else {
    put(0xF0 | c >> 18U), put(0x80 | (c >> 12U & 0x3FU)), put(0x80 | (c >> 6U & 0x3FU)),
        put(0x80 | (c & 0x3FU));
  }
}

}  // namespace trainctl::tokenizer
