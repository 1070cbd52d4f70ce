// utf8.h: is this text UTF-8, and how much of it fits into a message.
#pragma once

#include <string>
#include <string_view>

namespace trainctl::spec {

/// Bytes of the code point that `text` starts with; 0 where it is not well-formed (overlong, surrogate, cut
/// short, above U+10FFFF) or `text` is empty.  Source: The Unicode Standard, table 3-7.
size_t utf8_length(std::string_view text);

bool is_utf8(std::string_view text);

/// At most 60 bytes of it, cut between code points, `...` after a cut.
std::string shortened(std::string_view text);

}  // namespace trainctl::spec
