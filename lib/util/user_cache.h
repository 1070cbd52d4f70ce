// user_cache.h: what is kept between runs for one user, and shared by many processes.
#pragma once

#include <filesystem>

#include "util/fd.h"

namespace trainctl {

/// ${XDG_CACHE_HOME:-~/.cache}/trainctl; empty where neither variable holds an absolute path.
std::filesystem::path user_cache_folder();

/// An exclusive lock on `path`, which is made where it is missing; waits for it.  Closing the descriptor
/// frees it. An empty Fd, with errno set, where it cannot be had.
Fd lock_file(const std::filesystem::path& path);

}  // namespace trainctl
