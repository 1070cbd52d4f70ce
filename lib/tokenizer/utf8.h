// utf8.h: just enough of UTF-8 to print what a model says as it comes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace trainctl::tokenizer {

/// Length in bytes of the whole characters at the start of `text`; what follows is the beginning of one more
/// that is not complete yet.  Bytes that can begin no character count as whole.
size_t complete_utf8(std::string_view text);

/// Passes bytes on in whole characters.
class Utf8Stream {
 public:
  /// Adds bytes; returns those that now make whole characters.
  std::string push(std::string_view bytes);
  /// What is left at the end, whole or not.
  std::string finish();

 private:
  std::string pending_;
};

/// Appends code point `c` as UTF-8.
void append_utf8(std::string& text, uint32_t c);

}  // namespace trainctl::tokenizer
