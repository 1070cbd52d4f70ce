// The reference of every key as Markdown: what `trainctl schema` prints and configs/SCHEMA.md holds.
#include <fmt/format.h>

#include <algorithm>

#include "spec/describe.h"
#include "spec/load.h"
#include "spec/presets.h"

namespace trainctl::spec {

namespace {

constexpr std::string_view kIntro = R"(# Keys of a job file

This page is what `trainctl schema` prints; `trainctl schema --json` prints a JSON Schema for editors.

- A job file is one YAML document: top-level keys, and sections one level deep. Unknown and duplicate keys, anchors,
  aliases, merge keys and tags are refused.
- Numbers are decimal: `1e-4`, `1_000`, and `1e3` for an integer where exact. Booleans are `true` and `false`.
- `auto` is the same as leaving the key out.
- `${NAME}` and `${NAME:-default}` take a value from the environment; `$$` is a dollar sign.
- Relative paths start at the job file's folder, those of `--set` at the current one. Globs (`*`, `?`, `[...]`) are
  allowed in `data.train` and `data.eval`.
- `--set section.key=value` on the command line wins over the file, a later one over an earlier one.
- A key that has no effect beside the others (the column *where*) is refused, not ignored.
)";

std::string type_of(const Field& field) {
  const std::string optional = field.has_auto && field.type != Type::kChoice ? " or `auto`" : "";
  switch (field.type) {
    case Type::kBool:
      return "true, false" + optional;
    case Type::kInt:
      return "integer" + optional;
    case Type::kReal:
      return "number" + optional;
    case Type::kText:
      return field.role == TextRole::kPlain || field.role == TextRole::kName ? "text"
             : field.role == TextRole::kPath                                 ? "path"
                                                                             : "path that exists";
    case Type::kChoice:
      return fmt::format("`{}`", fmt::join(field.choices, "`, `")) + (field.has_auto ? ", `auto`" : "");
    case Type::kIntList:
      return "list of integers";
    case Type::kTextList:
      return "path or list of paths that exist";
  }
  return "";
}

std::string default_of(const Field& field) {
  const Value value = field.get();
  const auto* text = std::get_if<std::string>(&value);
  const auto* ints = std::get_if<std::vector<int64_t>>(&value);
  const auto* texts = std::get_if<std::vector<std::string>>(&value);
  if ((text != nullptr && text->empty()) || ints != nullptr || texts != nullptr) return "";
  return "`" + to_text(value) + "`";
}

std::string row(const Field& field) {
  const std::string key = field.path.substr(field.path.find('.') + 1);
  const std::string limits(field.limits.text);
  const std::string where = field.applies_text.empty() ? "" : "`" + std::string(field.applies_text) + "`";
  return fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", key, type_of(field), default_of(field), limits,
                     where, field.doc);
}

constexpr std::string_view kHead =
    "| key | type | default | limits | where | meaning |\n|---|---|---|---|---|---|\n";

std::string preset_row(const std::string& name) {
  JobSpec job;
  job.model = *find_preset(name);
  std::string keys;
  for (const Field& field : fields_of(job)) {
    if (!field.path.starts_with("model.") || field.path == "model.preset" || !field.applies(job)) continue;
    const std::string value = to_text(field.get());
    if (value == "\"\"") continue;
    keys += fmt::format("{}{}: {}", keys.empty() ? "" : ", ", field.path.substr(6), value);
  }
  return fmt::format("| `{}` | {} |\n", name, keys);
}

}  // namespace

std::string schema_markdown() {
  JobSpec defaults;
  const std::vector<Field> fields = fields_of(defaults);
  std::string out(kIntro);
  out += "\n## Top level\n\n" + std::string(kHead);
  for (const Field& field : fields) {
    if (field.path.find('.') == std::string::npos) out += row(field);
  }
  for (const Section& section : sections()) {
    out += fmt::format("\n## {}: {}\n\n{}", section.name, section.doc, kHead);
    for (const Field& field : fields) {
      if (field.path.starts_with(std::string(section.name) + ".")) out += row(field);
    }
  }
  out +=
      "\n## Presets of `model.preset`\n\nKeys given in the file win over the preset's.\n\n| name | keys "
      "|\n|---|---|\n";
  for (const std::string& name : preset_names()) out += preset_row(name);
  return out;
}

}  // namespace trainctl::spec
