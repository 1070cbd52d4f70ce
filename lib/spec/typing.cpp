#include "spec/typing.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>

#include "spec/utf8.h"

namespace trainctl::spec {

namespace {

namespace fs = std::filesystem;

std::string_view expected(Type type) {
  switch (type) {
    case Type::kBool:
      return "true or false";
    case Type::kInt:
      return "an integer";
    case Type::kReal:
      return "a number";
    case Type::kText:
      return "a text";
    case Type::kChoice:
      return "a name";
    case Type::kIntList:
      return "a list of integers, such as [64, 10]";
    case Type::kTextList:
      return "a list of texts";
  }
  return "";
}

bool is_path(TextRole role) { return role != TextRole::kPlain && role != TextRole::kName; }

bool has_control_characters(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

// Reads the values of one field, scalar by scalar.
class ValueReader {
 public:
  ValueReader(const Field& field, const Assignment& given, const Environment& environment, Problems& problems)
      : field_(field), given_(given), environment_(environment), problems_(problems) {}

  std::optional<Value> read() {
    const Node& node = given_.value;
    if (node.kind == Node::Kind::kNull) {
      return fail(node, "has no value",
                  field_.has_auto ? "give it a value, `auto`, or remove the line"
                                  : "give it a value or remove the line");
    }
    if (field_.type == Type::kIntList) return read_list<int64_t>(Type::kInt);
    if (field_.type == Type::kTextList) return read_list<std::string>(Type::kText);
    return read_scalar(node, field_.type);
  }

 private:
  std::nullopt_t fail(const Node& node, std::string_view what, std::string help) {
    problems_.add(node.at, fmt::format("`{}` {}", field_.path, what), std::move(help));
    return std::nullopt;
  }

  template <class T>
  std::optional<Value> read_list(Type item_type) {
    const Node& node = given_.value;
    std::vector<T> out;
    if (node.kind == Node::Kind::kScalar && item_type == Type::kText) {  // one path needs no brackets
      const auto value = read_scalar(node, item_type);
      if (!value) return std::nullopt;
      return Value{std::vector<T>{std::get<T>(*value)}};
    }
    if (node.kind != Node::Kind::kList) return wrong_kind(node, field_.type);
    if (node.items.empty()) return fail(node, "is an empty list", "give it items or remove the line");
    for (const Node& item : node.items) {
      if (item.kind == Node::Kind::kNull) {
        fail(item, "has an empty item", "remove it or give it a value");
      } else if (const auto value = read_scalar(item, item_type)) {
        out.push_back(std::get<T>(*value));
      }
    }
    if (out.size() != node.items.size()) return std::nullopt;
    return Value{std::move(out)};
  }

  std::nullopt_t wrong_kind(const Node& node, Type type) {
    const std::string_view is = node.kind == Node::Kind::kMap    ? "a map"
                                : node.kind == Node::Kind::kList ? "a list"
                                                                 : "a single value";
    return fail(node, fmt::format("is {}, expected {}", is, expected(type)),
                fmt::format("write {}", expected(type)));
  }

  std::optional<Value> read_scalar(const Node& node, Type type) {
    if (node.kind != Node::Kind::kScalar) return wrong_kind(node, type);
    ScalarError error;
    bool used = false;
    const auto text = expand_variables(node.text, environment_, used, error);
    if (!text) return fail(node, error.what, error.help);
    const std::string from = used ? fmt::format(" (from `{}`)", shortened(node.text)) : "";
    if (!is_utf8(*text) || has_control_characters(*text)) {
      return fail(node, "holds bytes that are not UTF-8 text, or control characters" + from, "remove them");
    }
    if (field_.has_auto && *text == "auto" && !node.quoted) return Value{};
    if (type == Type::kText) return read_text(node, *text);
    if (type == Type::kChoice) return read_choice(node, *text, from);
    if (node.quoted && !used) {
      return fail(node,
                  fmt::format("is the quoted text \"{}\", expected {}", shortened(*text), expected(type)),
                  "remove the quotes");
    }
    return read_number(node, *text, type, from);
  }

  std::optional<Value> read_number(const Node& node, const std::string& text, Type type,
                                   const std::string& from) {
    ScalarError error;
    std::optional<Value> value;
    double number = 0;
    if (type == Type::kBool) {
      if (const auto b = parse_bool(text, error)) return Value{*b};
    } else if (type == Type::kInt) {
      if (const auto i = parse_int(text, error)) value = *i, number = static_cast<double>(*i);
    } else if (const auto d = parse_real(text, error)) {
      value = number = *d;
    }
    if (!value) return fail(node, error.what + from, error.help);
    if (!field_.limits.hold(number)) {
      return fail(node, fmt::format("is {}{}, must be {}", shortened(text), from, field_.limits.text),
                  fmt::format("use a value {}", field_.limits.text));
    }
    return value;
  }

  std::optional<Value> read_choice(const Node& node, const std::string& text, const std::string& from) {
    const auto& names = field_.choices;
    if (std::find(names.begin(), names.end(), text) != names.end()) return Value{text};
    const std::vector<std::string> candidates(names.begin(), names.end());
    const std::string best = text.size() > 64 ? "" : nearest(text, candidates);
    return fail(node,
                fmt::format("is `{}`{}, expected one of {}", shortened(text), from, fmt::join(names, ", ")),
                best.empty() ? fmt::format("use one of {}", fmt::join(names, ", "))
                             : fmt::format("did you mean `{}`?", best));
  }

  std::optional<Value> read_text(const Node& node, const std::string& text) {
    if (text.empty()) return fail(node, "is an empty text", "give it a value or remove the line");
    if (field_.role == TextRole::kName) {
      const bool good =
          text.size() <= 100 && text[0] != '.' && text[0] != '-' &&
          text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
              std::string::npos;
      if (!good) {
        return fail(node, fmt::format("is `{}`, which cannot name a folder everywhere", shortened(text)),
                    "use up to 100 letters, digits, `.`, `_`, `-`, with a letter or digit first");
      }
    }
    if (!is_path(field_.role)) return Value{text};
    std::string path = fs::path(given_.base / text).lexically_normal().string();
    if (path.size() > 1 && path.back() == '/') path.pop_back();
    if (is_utf8(path)) return Value{std::move(path)};
    return fail(node, "lies in a folder whose name is not UTF-8", "move it, or rename the folder");
  }

  const Field& field_;
  const Assignment& given_;
  const Environment& environment_;
  Problems& problems_;
};

bool is_glob_with_match(const std::string& pattern) {
  if (pattern.find_first_of("*?[") == std::string::npos) return false;
  glob_t found{};
  const bool any = glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0;
  globfree(&found);
  return any;
}

void check_path(const Field& field, const std::string& path, const SourcePos& at, Problems& problems) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status)) {
    if (field.role == TextRole::kExistingPath && is_glob_with_match(path)) return;
    const bool pattern = path.find_first_of("*?[") != std::string::npos;
    problems.add(at,
                 fmt::format("`{}` names {}, {}", field.path, path,
                             pattern ? "which matches no file" : "which does not exist"),
                 at.file.starts_with("--set") ? "paths in --set are taken from the current folder"
                                              : "relative paths are taken from the job file's folder");
  } else if (field.role == TextRole::kExistingFile && !fs::is_regular_file(status)) {
    problems.add(at, fmt::format("`{}` names {}, which is not a file", field.path, path),
                 "name the file itself");
  }
}

}  // namespace

std::optional<Value> read_value(const Field& field, const Assignment& given, const Environment& environment,
                                Problems& problems) {
  return ValueReader(field, given, environment, problems).read();
}

void check_paths(const Field& field, const Assignment& given, Problems& problems) {
  if (field.role != TextRole::kExistingPath && field.role != TextRole::kExistingFile) return;
  const Value value = field.get();
  if (const auto* path = std::get_if<std::string>(&value)) check_path(field, *path, given.value.at, problems);
  if (const auto* paths = std::get_if<std::vector<std::string>>(&value)) {
    for (size_t i = 0; i < paths->size(); ++i) {
      const bool listed = given.value.kind == Node::Kind::kList;
      check_path(field, (*paths)[i], listed ? given.value.items[i].at : given.value.at, problems);
    }
  }
}

}  // namespace trainctl::spec
