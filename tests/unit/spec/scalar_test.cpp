#include "spec/scalar.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>

#include "job_text.h"

using namespace trainctl::spec;  // NOLINT: the tests speak the namespace's words

namespace {

std::string int_error(const std::string& text) {
  ScalarError error;
  return parse_int(text, error) ? "" : error.what + " / " + error.help;
}
std::optional<int64_t> integer(const std::string& text) {
  ScalarError error;
  return parse_int(text, error);
}
std::optional<double> real(const std::string& text) {
  ScalarError error;
  return parse_real(text, error);
}
std::string expanded(const std::string& text) {
  bool used = false;
  ScalarError error;
  const auto environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "A") return "one";
    if (name == "EMPTY") return "";
    return std::nullopt;
  };
  const auto out = expand_variables(text, environment, used, error);
  return out ? *out : "error: " + error.what;
}

}  // namespace

TEST_CASE("integers are decimal and exact", "[spec]") {
  CHECK(integer("0") == 0);
  CHECK(integer("-7") == -7);
  CHECK(integer("+7") == 7);
  CHECK(integer("1e3") == 1000);
  CHECK(integer("2.5e3") == 2500);
  CHECK(integer("1_000_000") == 1'000'000);
  CHECK(integer("100e-2") == 1);
  CHECK(integer("0e99") == 0);
  CHECK(integer("9223372036854775807") == std::numeric_limits<int64_t>::max());
  CHECK(integer("-9223372036854775808") == std::numeric_limits<int64_t>::min());
  CHECK(integer("1e18") == 1'000'000'000'000'000'000);
  for (const char* text :
       {"", "-", "1.5", "1e-1", "2.55e1", "1e", "_1", "1_", "1__0", "1 0", "x", "1k", "1e3x", "--1", "."}) {
    CAPTURE(text);
    CHECK_FALSE(integer(text).has_value());
  }
  CHECK(has(int_error("9223372036854775808"), "does not fit 64 bits"));
  CHECK(has(int_error("1e19"), "does not fit 64 bits"));
  CHECK(has(int_error("1e99999999999999999999"), "does not fit 64 bits"));
}

TEST_CASE("octal and hexadecimal are refused with a hint", "[spec]") {
  CHECK(int_error("010") == "is `010`; a leading zero would be octal to some readers / write 10");
  CHECK(has(int_error("-007"), "write -7"));
  CHECK(has(int_error("00"), "write 0"));
  CHECK(has(int_error("0_1"), "leading zero"));
  CHECK(has(int_error("0x10"), "write the number in decimal"));
  CHECK(has(int_error("0o10"), "write the number in decimal"));
  CHECK_FALSE(real("010.5").has_value());
  CHECK(real("0.5") == 0.5);
}

TEST_CASE("numbers take every exponent form and are finite", "[spec]") {
  CHECK(real("1e-4") == 1e-4);
  CHECK(real("1E-4") == 1e-4);
  CHECK(real("+1.5e+3") == 1500);
  CHECK(real(".5") == 0.5);
  CHECK(real("5.") == 5);
  CHECK(real("1_000.5") == 1000.5);
  CHECK(real("3e-4") == 3e-4);
  CHECK(real("0.1") == 0.1);
  for (const char* text : {".inf", "-.inf", ".nan", "inf", "NaN", "Infinity", "1e999", "1e-999", "1,000",
                           "e5", "1e+", "0x1p3", "1.2.3"}) {
    CAPTURE(text);
    CHECK_FALSE(real(text).has_value());
  }
  CHECK(has(int_error("1,000"), "write 1000 or 1_000"));
}

TEST_CASE("booleans are true and false only", "[spec]") {
  ScalarError error;
  CHECK(parse_bool("true", error) == true);
  CHECK(parse_bool("false", error) == false);
  for (const char* text : {"no", "No", "nO", "off", "n", "0", "False"}) {
    ScalarError hint;
    CAPTURE(text);
    CHECK_FALSE(parse_bool(text, hint).has_value());
    CHECK(hint.help == "write false");
  }
  for (const char* text : {"yes", "on", "y", "1", "TRUE"}) {
    ScalarError hint;
    CHECK_FALSE(parse_bool(text, hint).has_value());
    CHECK(hint.help == "write true");
  }
}

TEST_CASE("variables come from the environment", "[spec]") {
  CHECK(expanded("x/${A}/y") == "x/one/y");
  CHECK(expanded("${A}${A}") == "oneone");
  CHECK(expanded("${B:-two}") == "two");
  CHECK(expanded("${A:-two}") == "one");
  CHECK(expanded("${EMPTY:-two}") == "two");
  CHECK(expanded("${B:-}").empty());
  CHECK(expanded("${EMPTY}").empty());
  CHECK(expanded("$$A costs $5 $") == "$A costs $5 $");
  CHECK(expanded("$${A}") == "${A}");
  CHECK(has(expanded("${B}"), "error: uses ${B}, which is not set"));
  for (const char* text : {"${", "${A", "${}", "${1A}", "${A B}", "${A:-${B}}", "${A-b}"}) {
    CAPTURE(text);
    CHECK(has(expanded(text), "error: holds a variable that cannot be read"));
  }
}
