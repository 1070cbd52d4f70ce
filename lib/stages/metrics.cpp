#include "stages/metrics.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "util/atomic_file.h"
#include "util/diagnostic.h"

namespace trainctl::stages {

namespace {

double number(const nlohmann::json& line, const char* key) {
  const auto it = line.find(key);
  return it != line.end() && it->is_number() ? it->get<double>() : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::vector<StepMetrics> read_metrics(const std::filesystem::path& file) {
  const std::string text = read_file_if_present(file).value_or("");
  std::vector<StepMetrics> steps;
  int line_number = 0;
  for (size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    ++line_number;
    const auto line = nlohmann::json::parse(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                            text.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    if (!line.is_object()) {
      throw InfraError(file.string() + ":" + std::to_string(line_number) + ": not a JSON object");
    }
    if (!line.contains("loss")) continue;
    steps.push_back({.step = line.value("step", int64_t{0}),
                     .loss = number(line, "loss"),
                     .grad_norm = number(line, "grad_norm"),
                     .skipped = line.value("skipped", false)});
  }
  return steps;
}

}  // namespace trainctl::stages
