// peak_cache.h: measured peaks, kept between runs in one small JSON file that many processes share.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace trainctl::device {

/// ${XDG_CACHE_HOME:-~/.cache}/trainctl/peak.json; empty where neither variable holds an absolute path.
std::filesystem::path default_peak_cache();

/// A measured peak; one with a doubt ("the machine was busy") is used, but not kept.
struct Measurement {
  double tflops = 0;
  std::string doubt;
  Measurement(double value, std::string why = {}) : tflops(value), doubt(std::move(why)) {}
};

/// The number under `key` in the JSON object in `file`, else `measure()`, which is then kept there (in one
/// rename, other keys untouched).  A lock beside the file is held meanwhile: of many processes one measures,
/// the others wait and read.  A cache that cannot be read, locked or written costs a warning and a
/// measurement, nothing else.  To measure anew, delete the file.
double cached_peak(const std::filesystem::path& file, const std::string& key,
                   const std::function<Measurement()>& measure);

}  // namespace trainctl::device
