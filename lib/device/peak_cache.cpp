#include "device/peak_cache.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "util/atomic_file.h"
#include "util/diagnostic.h"
#include "util/user_cache.h"

namespace trainctl::device {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// The cache's object; an empty one where the file is absent or no such JSON.
Json read_object(const fs::path& file) {
  const std::optional<std::string> text = read_file_if_present(file);
  if (!text) return Json::object();
  Json object = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (object.is_object()) return object;
  spdlog::warn("{} is not a JSON object; measuring the peak again", file.string());
  return Json::object();
}

bool is_peak(const Json& value) { return value.is_number() && value.get<double>() > 0; }

}  // namespace

fs::path default_peak_cache() {
  const fs::path folder = user_cache_folder();
  return folder.empty() ? folder : folder / "peak.json";
}

double cached_peak(const fs::path& file, const std::string& key,
                   const std::function<Measurement()>& measure) {
  std::optional<double> peak;
  try {
    if (file.empty()) throw InfraError("neither XDG_CACHE_HOME nor HOME is set");
    std::error_code error;
    fs::create_directories(file.parent_path(), error);
    if (error) throw InfraError(fmt::format("{}: {}", file.parent_path().string(), error.message()));
    const fs::path lock_path = fs::path(file) += ".lock";
    const Fd lock = lock_file(lock_path);
    if (!lock) throw InfraError(fmt::format("{}: {}", lock_path.string(), std::strerror(errno)));
    Json object = read_object(file);
    if (object.contains(key) && is_peak(object[key])) return object[key].get<double>();
    const Measurement measured = measure();
    peak = measured.tflops;
    if (!measured.doubt.empty()) throw InfraError(measured.doubt);
    object[key] = *peak;
    write_file_atomically(file, object.dump(2) + "\n", Durability::kNotSynced);
  } catch (const InfraError& error) {
    spdlog::warn("the measured matmul peak is not kept: {}", error.what());
  }
  return peak ? *peak : measure().tflops;
}

}  // namespace trainctl::device
