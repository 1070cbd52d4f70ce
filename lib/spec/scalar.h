// scalar.h: strict reading of one scalar.  No YAML 1.1 surprises: 010 is no 8, `no` is no boolean.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace trainctl::spec {

/// Why a text is not what was expected, and what to do; `what` follows "`key` " in the message.
struct ScalarError {
  std::string what, help;
};

/// Each returns nullopt and sets `error` where `text` is not of the type.
/// Integers: decimal, `1_000`, and `1e3` or `2.5e3` where exact; within 64 bits.
std::optional<int64_t> parse_int(std::string_view text, ScalarError& error);
/// Numbers: decimal and exponent forms, finite.
std::optional<double> parse_real(std::string_view text, ScalarError& error);
/// `true` or `false`.
std::optional<bool> parse_bool(std::string_view text, ScalarError& error);

using Environment = std::function<std::optional<std::string>(const std::string& name)>;
Environment process_environment();

/// Replaces `${NAME}`, `${NAME:-default}` (where NAME is unset or empty) and `$$` (a dollar sign).  `used`
/// says whether a variable was replaced.  Returns nullopt and sets `error` where one is unset or badly
/// written.
std::optional<std::string> expand_variables(std::string_view text, const Environment& environment, bool& used,
                                            ScalarError& error);

}  // namespace trainctl::spec
