#include "launch/root_cause.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "util/diagnostic.h"
#include "util/fd.h"

namespace trainctl::launch {

namespace {

constexpr size_t kLastLines = 5;

std::string tail(const std::filesystem::path& path, off_t num_bytes) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return "";
  std::string bytes(static_cast<size_t>(std::min(num_bytes, info.st_size)), '\0');
  const ssize_t n =
      ::pread(fd.get(), bytes.data(), bytes.size(), info.st_size - static_cast<off_t>(bytes.size()));
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(0, n)));
  return bytes;
}

std::vector<std::string> last_lines(const std::filesystem::path& log) {
  std::istringstream text(tail(log, 8192));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    if (!line.empty()) lines.push_back(line.substr(0, 400));
  }
  if (lines.size() > kLastLines) lines.erase(lines.begin(), lines.end() - kLastLines);
  return lines;
}

/// The step of the last line of metrics.jsonl, which rank 0 writes; -1 where there is none.
int64_t last_logged_step(const std::filesystem::path& trial_dir) {
  const std::string text = tail(trial_dir / "metrics.jsonl", 8192);
  const size_t key = text.rfind("\"step\":");
  return key == std::string::npos ? -1 : std::strtoll(text.c_str() + key + 7, nullptr, 10);
}

std::string duration(double seconds) {
  std::ostringstream out;
  out.precision(3);
  if (seconds < 120) {
    out << seconds << " s";
  } else if (seconds < 7200) {
    out << static_cast<int>(seconds / 60) << " min";
  } else {
    out << seconds / 3600 << " h";
  }
  return out.str();
}

std::string hint(const RootCause& cause) {
  if (cause.error && !cause.error->help.empty()) return cause.error->help;
  if (const auto* const exited = std::get_if<Exited>(&cause.exit.end)) {
    return exited->code == 127 ? "the worker's program could not be executed" : "";
  }
  switch (std::get<Signalled>(cause.exit.end).signal) {
    case SIGKILL:
      return "someone sent it, or the kernel's out-of-memory killer did (`dmesg` tells); then lower "
             "`train.micro_batch`, `data.num_workers` or `launch.nproc_per_node`, or ask for more memory";
    case SIGSEGV:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
    case SIGABRT:
      return "it crashed in native code; the log may end in the reason";
    case SIGTERM:
    case SIGINT:
      return "someone sent it to this one process";
    default:
      return "";
  }
}

}  // namespace

std::optional<RootCause> find_root_cause(const GroupEnd& end) {
  const auto first =
      std::find_if(end.exits.begin(), end.exits.end(), [](const auto& e) { return !is_good(e.end); });
  if (first == end.exits.end()) return std::nullopt;
  const std::vector<run::WorkerError> errors = run::read_worker_errors(end.attempt_dir);
  const auto words_of = [&](int rank) {
    return std::find_if(errors.begin(), errors.end(), [&](const auto& e) { return e.rank == rank; });
  };
  auto culprit = first;
  if (!errors.empty()) {
    const auto& earliest = errors.front();
    const bool first_was_silent = words_of(first->rank) == errors.end();
    const bool follows =
        first_was_silent && (earliest.kind == "infra" || earliest.monotonic_ns > first->end_ns);
    const auto its_exit = std::find_if(end.exits.begin(), end.exits.end(),
                                       [&](const auto& e) { return e.rank == earliest.rank; });
    if (!follows && its_exit != end.exits.end()) culprit = its_exit;
  }
  RootCause cause{.exit = *culprit, .attempt = end.attempt, .log = log_path(end.attempt_dir, culprit->rank)};
  if (const auto words = words_of(culprit->rank); words != errors.end()) cause.error = *words;
  cause.step = cause.error ? cause.error->step : last_logged_step(end.attempt_dir.parent_path());
  const int64_t failed_ns = cause.error ? cause.error->monotonic_ns : culprit->end_ns;
  cause.ran_s = static_cast<double>(failed_ns - end.start_ns) * 1e-9;
  cause.last_lines = last_lines(cause.log);
  return cause;
}

std::string render(const RootCause& cause, bool color) {
  std::string what =
      "rank " + std::to_string(cause.exit.rank) + " (pid " + std::to_string(cause.exit.pid) + ") ";
  what += cause.error ? "failed" : to_words(cause.exit.end);
  what += cause.step >= 0 ? " at step " + std::to_string(cause.step) : " before its first step";
  what += ", " + duration(cause.ran_s) + " into attempt " + std::to_string(cause.attempt);
  if (cause.error) what += ": " + cause.error->what;
  std::string text = trainctl::render(Diagnostic{.what = what}, color);
  text += "  log:  " + cause.log.string() + "\n";
  for (size_t i = 0; i < cause.last_lines.size(); ++i) {
    text += (i == 0 ? "  last: " : "        ") + cause.last_lines[i] + "\n";
  }
  const std::string help = hint(cause);
  if (!help.empty()) text += "  help: " + help + "\n";
  return text;
}

int exit_code(const RootCause& cause) {
  if (cause.error) {
    if (cause.error->kind == "user") return kExitUser;
    if (cause.error->kind == "infra") return kExitInfra;
    if (cause.error->kind == "bug") return kExitBug;
    return kExitJob;
  }
  const auto* const exited = std::get_if<Exited>(&cause.exit.end);
  if (exited == nullptr) return kExitJob;
  const bool said = exited->code == kExitUser || exited->code == kExitInfra || exited->code == kExitBug;
  return said ? exited->code : static_cast<int>(kExitJob);
}

}  // namespace trainctl::launch
