// A spec as a job file: every key that applies, in the table's order.
#include <fmt/format.h>

#include <algorithm>

#include "spec/describe.h"
#include "spec/load.h"

namespace trainctl::spec {

namespace {

// Plain where any reader takes it for text; else in double quotes.  `$$` is a dollar sign.
std::string text_of(const std::string& text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '/' || c == '.' || c == '-';
  };
  const bool starts_well =
      !text.empty() && (text[0] == '/' || text[0] == '_' || (text[0] >= 'A' && text[0] <= 'z'));
  static constexpr std::string_view kWords[] = {"null", "Null", "NULL", "true", "false", "yes",
                                                "no",   "on",   "off",  "y",    "n"};
  const bool word = std::find(std::begin(kWords), std::end(kWords), text) != std::end(kWords);
  if (starts_well && !word && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '$') out += '$';
    out += c;
  }
  return out + "\"";
}

struct Printer {
  std::string operator()(std::monostate) const { return "auto"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }  // shortest that reads back
  std::string operator()(const std::string& value) const { return text_of(value); }
  template <class T>
  std::string operator()(const std::vector<T>& items) const {
    std::string out;
    for (const T& item : items) out += (out.empty() ? "" : ", ") + (*this)(item);
    return "[" + out + "]";
  }
};

bool is_empty(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  const auto* ints = std::get_if<std::vector<int64_t>>(&value);
  const auto* texts = std::get_if<std::vector<std::string>>(&value);
  return (text != nullptr && text->empty()) || (ints != nullptr && ints->empty()) ||
         (texts != nullptr && texts->empty());
}

std::string print(const JobSpec& spec, const Origins* origins) {
  JobSpec copy = spec;
  std::string out, section;
  for (const Field& field : fields_of(copy)) {
    const Value value = field.get();
    if (is_empty(value) || !field.applies(spec)) continue;
    const size_t dot = field.path.find('.');
    const std::string here = dot == std::string::npos ? "" : field.path.substr(0, dot);
    if (here != section) out += here + ":\n";
    section = here;
    std::string line =
        fmt::format("{}{}: {}", here.empty() ? "" : "  ", field.path.substr(dot + 1), to_text(value));
    if (origins != nullptr) line = fmt::format("{:<39} # {}", line, to_string(origins->at(field.path)));
    out += line + "\n";
  }
  return out;
}

}  // namespace

std::string to_text(const Value& value) { return std::visit(Printer{}, value); }

std::string to_yaml(const JobSpec& spec) { return print(spec, nullptr); }

std::string to_yaml(const JobSpec& spec, const Origins& origins) { return print(spec, &origins); }

}  // namespace trainctl::spec
