#include "tokenizer/splitter.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <new>
#include <stdexcept>

#include "util/diagnostic.h"

namespace trainctl::tokenizer {

namespace {

pcre2_code* as_code(void* code) { return static_cast<pcre2_code*>(code); }
pcre2_match_data* as_data(void* data) { return static_cast<pcre2_match_data*>(data); }

// Unicode's White_Space.  PCRE2's own \s adds U+180E, which is none since Unicode 6.3.
constexpr std::string_view kSpaces =
    "\\t-\\r \\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}";

/// The pattern with \s and \S spelled out.
std::string with_spaces(const std::string& pattern) {
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    const char after = c == '\\' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (after == 's' || (after == 'S' && !in_class)) {
      out += in_class ? std::string(kSpaces) : fmt::format("[{}{}]", after == 'S' ? "^" : "", kSpaces);
    } else {
      out += c;
      if (after != '\0') out += after;
      if (after == '\0' && c == '[') in_class = true;
      if (after == '\0' && c == ']') in_class = false;
    }
    if (after != '\0') ++i;
  }
  return out;
}

}  // namespace

Splitter::Splitter(const std::string& original) {
  const std::string pattern = with_spaces(original);
  int error = 0;
  PCRE2_SIZE at = 0;
  // MATCH_INVALID_UTF: without it every match would check all of the text that follows
  code_ = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                        PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF, &error, &at, nullptr);
  if (code_ == nullptr) {
    PCRE2_UCHAR text[256];
    pcre2_get_error_message(error, text, sizeof(text));
    throw UserError(
        fmt::format("the split pattern is not valid at byte {}: {}", at, reinterpret_cast<const char*>(text)),
        "the pattern is " + original);
  }
  pcre2_jit_compile(as_code(code_), PCRE2_JIT_COMPLETE);  // where it fails (no JIT here), matching is slower
}

Splitter::~Splitter() { pcre2_code_free(as_code(code_)); }

Splitter::Walk::Walk(const Splitter& splitter, std::string_view text, size_t begin)
    : splitter_(splitter),
      text_(text),
      at_(begin),
      data_(pcre2_match_data_create_from_pattern(as_code(splitter.code_), nullptr)) {
  if (data_ == nullptr) throw std::bad_alloc();
}

Splitter::Walk::~Walk() { pcre2_match_data_free(as_data(data_)); }

void Splitter::Walk::search() {
  const auto run = [&](uint32_t options) {
    return pcre2_match(as_code(splitter_.code_), reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(),
                       at_, PCRE2_NOTEMPTY | options, as_data(data_), nullptr);
  };
  int count = run(0);
  if (count == PCRE2_ERROR_JIT_STACKLIMIT) count = run(PCRE2_NO_JIT);  // the interpreter uses the heap
  if (count < 0 && count != PCRE2_ERROR_NOMATCH) {
    throw std::runtime_error(fmt::format("matching the split pattern failed with PCRE2's error {}", count));
  }
  const PCRE2_SIZE* const range = pcre2_get_ovector_pointer(as_data(data_));
  match_begin_ = count < 0 ? text_.size() : range[0];
  match_end_ = count < 0 ? text_.size() + 1 : range[1];
}

std::string_view Splitter::Walk::next() {
  if (at_ >= text_.size()) return {};
  if (match_end_ <= at_) search();
  const size_t begin = at_;
  at_ = match_begin_ > at_ ? match_begin_ : match_end_;
  return text_.substr(begin, at_ - begin);
}

}  // namespace trainctl::tokenizer
