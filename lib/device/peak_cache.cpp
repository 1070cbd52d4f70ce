#include "device/peak_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "util/atomic_file.h"
#include "util/diagnostic.h"

namespace trainctl::device {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// An exclusive lock on a file, made where it is missing.  Not held where `error()` is not empty.
class FileLock {
 public:
  explicit FileLock(const fs::path& path) : fd_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    int failed = fd_ < 0 ? -1 : 0;
    while (fd_ >= 0 && (failed = flock(fd_, LOCK_EX)) != 0 && errno == EINTR) {
    }
    if (failed != 0) error_ = fmt::format("{}: {}", path.string(), std::strerror(errno));
  }
  ~FileLock() {
    if (fd_ >= 0) close(fd_);  // which unlocks
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  const std::string& error() const { return error_; }

 private:
  int fd_;
  std::string error_;
};

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
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return fs::path(cache) / "trainctl" / "peak.json";
  const char* const home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return fs::path(home) / ".cache" / "trainctl" / "peak.json";
  return {};
}

double cached_peak(const fs::path& file, const std::string& key,
                   const std::function<Measurement()>& measure) {
  std::optional<double> peak;
  try {
    if (file.empty()) throw InfraError("neither XDG_CACHE_HOME nor HOME is set");
    std::error_code error;
    fs::create_directories(file.parent_path(), error);
    if (error) throw InfraError(fmt::format("{}: {}", file.parent_path().string(), error.message()));
    const FileLock lock(fs::path(file) += ".lock");
    if (!lock.error().empty()) throw InfraError(lock.error());
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
