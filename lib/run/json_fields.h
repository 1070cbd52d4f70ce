// json_fields.h: structs to JSON and back from one list of fields, `visit(fields, struct)`.  Internal to
// lib/run.
//
// Numbers keep every bit (shortest text that reads back equal).  JSON has no NaN and no infinity: they are
// written as the strings "nan", "inf", "-inf".  A key that is absent keeps its default, a key that is not
// known is ignored, so that files of a newer version can be read.
#pragma once

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace trainctl::run {

using Json = nlohmann::ordered_json;

struct JsonWriter {
  Json out = Json::object();

  static Json value(double v) {
    if (std::isnan(v)) return "nan";
    if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
    return v;
  }
  static Json value(const std::string& v) { return v; }
  static Json value(const std::filesystem::path& v) { return v.string(); }
  static Json value(bool v) { return v; }
  static Json value(int v) { return v; }
  static Json value(int64_t v) { return v; }
  template <class T>
  static Json value(const std::optional<T>& v) {
    return v ? value(*v) : Json(nullptr);
  }
  template <class T>
  static Json value(const std::vector<T>& list) {
    Json array = Json::array();
    for (const T& item : list) array.push_back(value(item));
    return array;
  }
  template <class T>
  static Json value(const T& nested) {
    JsonWriter writer;
    visit(writer, nested);
    return std::move(writer.out);
  }

  template <class T>
  void operator()(const char* key, const T& member) {
    out[key] = value(member);
  }
};

/// Throws nlohmann's type_error where a value has the wrong type.
struct JsonReader {
  const Json& in;

  static void read(const Json& json, double& v) {
    if (!json.is_string()) {
      json.get_to(v);
      return;
    }
    const auto& text = json.get_ref<const std::string&>();
    v = text == "nan" ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
    if (text == "-inf") v = -v;
  }
  static void read(const Json& json, std::filesystem::path& v) { v = json.get<std::string>(); }
  static void read(const Json& json, std::string& v) { json.get_to(v); }
  static void read(const Json& json, bool& v) { json.get_to(v); }
  static void read(const Json& json, int& v) { json.get_to(v); }
  static void read(const Json& json, int64_t& v) { json.get_to(v); }
  template <class T>
  static void read(const Json& json, std::optional<T>& v) {
    if (json.is_null()) return v.reset();
    read(json, v.emplace());
  }
  template <class T>
  static void read(const Json& json, std::vector<T>& list) {
    for (const Json& item : json) read(item, list.emplace_back());
  }
  template <class T>
  static void read(const Json& json, T& nested) {
    JsonReader reader{json};
    visit(reader, nested);
  }

  template <class T>
  void operator()(const char* key, T& member) {
    if (const auto it = in.find(key); it != in.end()) read(*it, member);
  }
};

}  // namespace trainctl::run
