#include "spec/scalar.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>

#include "spec/utf8.h"

namespace trainctl::spec {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A number taken apart: value = (-) digits * 10^exponent, where digits hold no underscores.
struct Decimal {
  bool negative = false;
  std::string digits;
  int64_t exponent = 0;
  std::string plain;  // without underscores, for from_chars
};

// Reads digits with single underscores between them; false where there is a stray underscore.
bool take_digits(std::string_view& text, std::string& digits) {
  size_t i = 0;
  bool previous_digit = false;
  for (; i < text.size() && (is_digit(text[i]) || text[i] == '_'); ++i) {
    if (text[i] == '_' && (!previous_digit || i + 1 >= text.size() || !is_digit(text[i + 1]))) return false;
    previous_digit = is_digit(text[i]);
    if (previous_digit) digits += text[i];
  }
  text.remove_prefix(i);
  return true;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return out;
}

ScalarError no_number(std::string_view text, std::string_view expected) {
  std::string help = fmt::format("write {}", expected);
  if (text.find(',') != std::string_view::npos) help = "write 1000 or 1_000; a comma separates list items";
  return {fmt::format("is `{}`, expected {}", shortened(text), expected), std::move(help)};
}

std::optional<Decimal> take_apart(std::string_view text, std::string_view expected, ScalarError& error) {
  const std::string small = lower(text);
  std::string_view rest = text;
  Decimal out;
  if (rest.starts_with('-') || rest.starts_with('+')) {
    out.negative = rest[0] == '-';
    rest.remove_prefix(1);
  }
  const std::string_view body = std::string_view(small).substr(text.size() - rest.size());
  if (body == ".inf" || body == "inf" || body == ".nan" || body == "nan" || body == "infinity") {
    error = {fmt::format("is `{}`, expected a finite number", text), "write a number"};
    return std::nullopt;
  }
  if (body.size() > 1 && body[0] == '0' && (body[1] == 'x' || body[1] == 'o' || body[1] == 'b')) {
    error = {fmt::format("is `{}`; hexadecimal, octal and binary numbers are not read", shortened(text)),
             "write the number in decimal"};
    return std::nullopt;
  }
  std::string whole, fraction, power;
  bool good = take_digits(rest, whole);
  if (good && rest.starts_with('.')) {
    rest.remove_prefix(1);
    good = take_digits(rest, fraction);
  }
  good = good && !(whole.empty() && fraction.empty());
  bool negative_power = false;
  if (good && (rest.starts_with('e') || rest.starts_with('E'))) {
    rest.remove_prefix(1);
    if (rest.starts_with('-') || rest.starts_with('+')) {
      negative_power = rest[0] == '-';
      rest.remove_prefix(1);
    }
    good = take_digits(rest, power) && !power.empty();
  }
  if (!good || !rest.empty()) {
    error = no_number(text, expected);
    return std::nullopt;
  }
  if (whole.size() > 1 && whole[0] == '0') {
    const size_t first = std::min(whole.find_first_not_of('0'), whole.size() - 1);
    error = {fmt::format("is `{}`; a leading zero would be octal to some readers", shortened(text)),
             fmt::format("write {}{}", out.negative ? "-" : "", shortened(whole.substr(first)))};
    return std::nullopt;
  }
  constexpr int64_t kHuge = 1'000'000'000;  // far beyond what either type holds
  int64_t exponent = 0;
  for (const char c : power) exponent = std::min<int64_t>(kHuge, exponent * 10 + (c - '0'));
  out.exponent = (negative_power ? -exponent : exponent) - static_cast<int64_t>(fraction.size());
  out.digits = whole + fraction;
  out.plain = (out.negative ? "-" : "") + (whole.empty() ? "0" : whole) +
              (fraction.empty() ? "" : "." + fraction) +
              (power.empty() ? "" : (negative_power ? "e-" : "e+") + power);
  return out;
}

bool is_name(std::string_view name) {
  return !name.empty() && !is_digit(name[0]) && std::all_of(name.begin(), name.end(), [](char c) {
    return c == '_' || is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

}  // namespace

std::optional<int64_t> parse_int(std::string_view text, ScalarError& error) {
  const auto decimal = take_apart(text, "an integer", error);
  if (!decimal) return std::nullopt;
  std::string digits = decimal->digits;
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  int64_t exponent = decimal->exponent;
  while (exponent < 0 && !digits.empty() && digits.back() == '0') {
    digits.pop_back();
    ++exponent;
  }
  if (digits.empty()) return 0;
  if (exponent < 0) {
    error = {fmt::format("is `{}`, expected an integer", shortened(text)), "write a whole number"};
    return std::nullopt;
  }
  const int64_t length = static_cast<int64_t>(digits.size()) + exponent;
  const std::string plain =
      length > 19 ? ""
                  : (decimal->negative ? "-" : "") + digits + std::string(static_cast<size_t>(exponent), '0');
  int64_t value = 0;
  if (plain.empty() || std::from_chars(plain.data(), plain.data() + plain.size(), value).ec != std::errc{}) {
    error = {fmt::format("is `{}`, which does not fit 64 bits", shortened(text)),
             fmt::format("use at most {}", std::numeric_limits<int64_t>::max())};
    return std::nullopt;
  }
  return value;
}

std::optional<double> parse_real(std::string_view text, ScalarError& error) {
  const auto decimal = take_apart(text, "a number", error);
  if (!decimal) return std::nullopt;
  double value = 0;
  const std::string& plain = decimal->plain;
  if (std::from_chars(plain.data(), plain.data() + plain.size(), value).ec != std::errc{}) {
    error = {fmt::format("is `{}`, which does not fit a double", shortened(text)),
             "use a magnitude between 1e-307 and 1e308"};
    return std::nullopt;
  }
  return value;
}

std::optional<bool> parse_bool(std::string_view text, ScalarError& error) {
  if (text == "true" || text == "false") return text == "true";
  const std::string small = lower(text);
  for (const std::string_view word : {"true", "yes", "y", "on", "1"}) {
    if (small == word) error = {fmt::format("is `{}`, expected true or false", text), "write true"};
  }
  for (const std::string_view word : {"false", "no", "n", "off", "0"}) {
    if (small == word) error = {fmt::format("is `{}`, expected true or false", text), "write false"};
  }
  if (error.what.empty())
    error = {fmt::format("is `{}`, expected true or false", shortened(text)), "write true or false"};
  return std::nullopt;
}

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  };
}

std::optional<std::string> expand_variables(std::string_view text, const Environment& environment, bool& used,
                                            ScalarError& error) {
  used = false;
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 >= text.size() || (text[i + 1] != '$' && text[i + 1] != '{')) {
      out += text[i];
      continue;
    }
    if (text[++i] == '$') {
      out += '$';
      continue;
    }
    const size_t end = text.find('}', i);
    const std::string_view inside = end == std::string_view::npos ? "" : text.substr(i + 1, end - i - 1);
    const size_t colon = inside.find(":-");
    const std::string name(inside.substr(0, colon));
    if (!is_name(name) || inside.find('$') != std::string_view::npos) {
      error = {fmt::format("holds a variable that cannot be read: `{}`", shortened(text.substr(i - 1))),
               "write ${NAME} or ${NAME:-default}, and $$ for a dollar sign"};
      return std::nullopt;
    }
    const std::optional<std::string> value = environment(name);
    if (!value && colon == std::string_view::npos) {
      error = {fmt::format("uses ${{{}}}, which is not set in the environment", name),
               fmt::format("export {0}=..., or give a default: ${{{0}:-value}}", name)};
      return std::nullopt;
    }
    const bool fall_back = colon != std::string_view::npos && (!value || value->empty());
    out += fall_back ? std::string(inside.substr(colon + 2)) : *value;
    used = true;
    i = end;
  }
  return out;
}

}  // namespace trainctl::spec
