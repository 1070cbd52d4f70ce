#include "util/user_cache.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstdlib>

namespace trainctl {

namespace fs = std::filesystem;

fs::path user_cache_folder() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/')
    return fs::path(cache) / "trainctl";  // a relative one does not count
  const char* const home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return fs::path(home) / ".cache" / "trainctl";
  return {};
}

Fd lock_file(const fs::path& path) {
  Fd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  int failed = fd ? 0 : -1;
  while (fd && (failed = flock(fd.get(), LOCK_EX)) != 0 && errno == EINTR) {
  }
  return failed == 0 ? std::move(fd) : Fd();
}

}  // namespace trainctl
