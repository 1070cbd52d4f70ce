#include "train/process_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace trainctl::train {

double rss_mb() {
  // Read every step, so without opening the file each time: fields are pages, the second is the resident set.
  static const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  char text[128] = {};
  if (file < 0 || pread(file, text, sizeof(text) - 1, 0) <= 0) return 0;
  char* resident = nullptr;
  std::strtoull(text, &resident, 10);
  const double pages = static_cast<double>(std::strtoull(resident, nullptr, 10));
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1024.0 * 1024.0);
}

double peak_rss_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) / 1024.0;  // kB
  }
  return 0;
}

}  // namespace trainctl::train
