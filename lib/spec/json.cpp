// A loaded job and the schema as JSON.  The only file here that includes nlohmann-json, which is slow to
// compile.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "spec/describe.h"
#include "spec/load.h"
#include "spec/presets.h"

namespace trainctl::spec {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Value& value) {
  return std::visit(
      [](const auto& v) {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::monostate>)
          return Json(nullptr);
        else
          return Json(v);
      },
      value);
}

Json& slot(Json& root, const std::string& path) {
  const size_t dot = path.find('.');
  return dot == std::string::npos ? root[path] : root[path.substr(0, dot)][path.substr(dot + 1)];
}

void add_limits(Json& type, const Limits& limits) {
  if (std::isfinite(limits.low)) type[limits.low_open ? "exclusiveMinimum" : "minimum"] = limits.low;
  if (std::isfinite(limits.high)) type[limits.high_open ? "exclusiveMaximum" : "maximum"] = limits.high;
}

// What editors take for a text and we read otherwise: `${NAME}`, and numbers such as `1_000` or (YAML 1.1)
// `1e-4`.
constexpr const char* kVariable = "\\$\\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\\}";
constexpr const char* kVariableOrNumber =
    "\\$\\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\\}|^[-+]?[0-9._]+([eE][-+]?[0-9]+)?$";

Json text_like(const char* pattern) { return {{"type", "string"}, {"pattern", pattern}}; }

Json json_type_of(const Field& field) {
  Json type;
  switch (field.type) {
    case Type::kBool:
      type = {{"type", "boolean"}};
      break;
    case Type::kInt:
      type = {{"type", "integer"}};
      break;
    case Type::kReal:
      type = {{"type", "number"}};
      break;
    case Type::kText:
      return {{"type", "string"}};
    case Type::kChoice:
      type = {{"enum", field.choices}};
      break;
    case Type::kIntList: {
      Json item = {{"type", "integer"}};
      add_limits(item, field.limits);
      return {{"type", "array"},
              {"items", Json{{"anyOf", Json::array({item, text_like(kVariableOrNumber)})}}},
              {"minItems", 1}};
    }
    case Type::kTextList:
      return {
          {"anyOf", Json::array({{{"type", "string"}},
                                 {{"type", "array"}, {"items", {{"type", "string"}}}, {"minItems", 1}}})}};
  }
  add_limits(type, field.limits);
  const bool number = field.type == Type::kInt || field.type == Type::kReal;
  Json any = Json::array({type, text_like(number ? kVariableOrNumber : kVariable)});
  if (field.has_auto) any.push_back({{"const", "auto"}});
  return {{"anyOf", any}};
}

Json property_of(const Field& field) {
  Json property = json_type_of(field);
  std::string text(field.doc);
  if (!field.applies_text.empty()) text += fmt::format(" (where {})", field.applies_text);
  property["description"] = text;
  const Json value = json_of(field.get());
  if (field.path == "model.preset") property["examples"] = preset_names();
  if (!value.is_null() && !value.empty() && value != "") property["default"] = value;
  return property;
}

Json map_schema(std::string_view doc) {
  return {{"type", "object"},
          {"description", doc},
          {"additionalProperties", false},
          {"properties", Json::object()}};
}

}  // namespace

std::string to_json(const LoadedJob& job) {
  JobSpec copy = job.spec;
  Json spec, origins;
  for (const Field& field : fields_of(copy)) {
    if (!field.applies(job.spec)) continue;
    slot(spec, field.path) = json_of(field.get());
    origins[field.path] = to_string(job.origins.at(field.path));
  }
  return Json{{"schema", "trainctl.spec/1"}, {"spec", spec}, {"origins", origins}}.dump(2) + "\n";
}

std::string schema_json() {
  JobSpec defaults;
  Json root = map_schema("A job of trainctl");
  root["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  root["title"] = "trainctl job";
  for (const Section& section : sections())
    root["properties"][std::string(section.name)] = map_schema(section.doc);
  for (const Field& field : fields_of(defaults)) {
    const size_t dot = field.path.find('.');
    Json& map = dot == std::string::npos ? root : root["properties"][field.path.substr(0, dot)];
    map["properties"][field.path.substr(dot + 1)] = property_of(field);
  }
  return root.dump(2) + "\n";
}

}  // namespace trainctl::spec
