#include "run/run_dir.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "util/diagnostic.h"

namespace trainctl::run {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const fs::path& dir, const std::string& reason) {
  throw InfraError("cannot make the run folder " + dir.string() + ": " + reason,
                   "set `run_dir` to a place that can be written");
}

/// True where this call made `dir`, false where something of that name is there already.
bool claim(const fs::path& dir) {
  if (::mkdir(dir.c_str(), 0777) == 0) return true;
  if (errno == EEXIST) return false;
  fail(dir, std::strerror(errno));
}

fs::path numbered(const fs::path& wanted, int number) {
  return number == 1 ? wanted : fs::path(wanted.string() + "-" + std::to_string(number));
}

}  // namespace

fs::path wanted_run_dir(const spec::JobSpec& job) {
  return job.run_dir.empty() ? fs::path("runs") / job.name : fs::path(job.run_dir);
}

RunDir create_run_dir(const fs::path& wanted, IfExists if_exists) {
  std::error_code error;
  const fs::path name = wanted.has_filename() ? wanted : wanted.parent_path();  // "runs/x/" is "runs/x"
  if (name.has_parent_path()) fs::create_directories(name.parent_path(), error);
  if (error) fail(name, error.message());
  int number = 1;
  while (!claim(numbered(name, number))) {
    if (if_exists == IfExists::kRefuse) {
      throw UserError(
          name.string() + " exists already; a run is never overwritten",
          "add `--new` for the next free numbered folder, or set `run_dir` or `name` to something else");
    }
    ++number;
  }
  RunDir dir{numbered(name, number)};
  for (const char* const sub : {"trials", "reports"}) {
    fs::create_directory(dir.root / sub, error);
    if (error) fail(dir.root, error.message());
  }
  return dir;
}

}  // namespace trainctl::run
