#include "report/json.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace trainctl::report {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "trainctl.report/1";

/// JSON has no NaN and no infinity; they become null.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json to_object(const Finding& f);
Json to_object(const Figure& f);
Json to_object(const Table& table);
Json to_object(const Report& r);

template <class T>
Json to_array(const std::vector<T>& items) {
  Json array = Json::array();
  for (const T& item : items) array.push_back(to_object(item));
  return array;
}

Json to_object(const Finding& f) {
  static constexpr const char* kStates[] = {"met", "not_met", "not_applicable"};
  return {{"key", f.key},
          {"state", kStates[static_cast<int>(f.state)]},
          {"what", f.what},
          {"evidence", f.evidence},
          {"required", f.required}};
}

Json to_object(const Figure& f) {
  return {{"key", f.key}, {"label", f.label}, {"value", number(f.value)}, {"unit", f.unit}, {"note", f.note}};
}

Json to_object(const Table& table) {
  Json columns = Json::array(), rows = Json::array();
  for (const Column& c : table.columns)
    columns.push_back({{"key", c.key}, {"label", c.label}, {"unit", c.unit}});
  for (const auto& row : table.rows) {
    Json cells = Json::array();
    for (const Cell& cell : row) {
      const auto* const value = std::get_if<double>(&cell);
      cells.push_back(value != nullptr ? number(*value) : Json(std::get<std::string>(cell)));
    }
    rows.push_back(std::move(cells));
  }
  return {{"title", table.title}, {"columns", std::move(columns)}, {"rows", std::move(rows)}};
}

Json to_object(const Report& r) {
  return {{"stage", r.stage},
          {"verdict", to_string(r.verdict)},
          {"exit_code", r.exit_code},
          {"message", r.message},
          {"wall_s", number(r.wall_s)},
          {"findings", to_array(r.findings)},
          {"figures", to_array(r.figures)},
          {"tables", to_array(r.tables)},
          {"advice", r.advice}};
}

std::string dump(const Json& json) {
  // A log line in a message may hold broken UTF-8: such bytes are replaced, the document stays valid.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string to_json(const RunReport& run) {
  return dump({{"schema", kSchema},
               {"job", run.job},
               {"run_dir", run.run_dir},
               {"verdict", to_string(verdict(run))},
               {"exit_code", exit_code(run)},
               {"stages", to_array(run.stages)}});
}

std::string error_json(const std::string& error, int exit_code) {
  return dump({{"schema", kSchema},
               {"verdict", to_string(Verdict::kFailed)},
               {"exit_code", exit_code},
               {"error", error},
               {"stages", Json::array()}});
}

}  // namespace trainctl::report
