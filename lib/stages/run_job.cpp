#include "stages/run_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "data/audit.h"
#include "launch/devices.h"
#include "launch/guard.h"
#include "report/json.h"
#include "report/text.h"
#include "spec/load.h"
#include "stages/plan_text.h"
#include "stages/stage.h"
#include "util/atomic_file.h"
#include "util/diagnostic.h"

namespace trainctl::stages {

namespace fs = std::filesystem;

namespace {

void print(std::FILE* stream, const std::string& text) {
  if (std::fputs(text.c_str(), stream) < 0 || std::fflush(stream) != 0) {
    throw InfraError("cannot write to standard output: " + std::string(std::strerror(errno)));
  }
}

/// `path` from the working folder where it lies below it.
fs::path shown(const fs::path& path) {
  const fs::path near = path.lexically_proximate(fs::current_path());
  return near.empty() || near.native().starts_with("..") ? path : near;
}

std::vector<const Stage*> chosen_stages(const std::vector<std::string>& names) {
  std::vector<const Stage*> chosen;
  for (const Stage& stage : all_stages()) {
    if (names.empty() || std::find(names.begin(), names.end(), stage.name) != names.end())
      chosen.push_back(&stage);
  }
  return chosen;
}

spec::JobSpec load(const RunOptions& options) {
  spec::JobSpec spec = spec::load_job(options.file, options.sets);
  launch::resolve_launch(spec.launch, launch::this_machine());
  const int64_t processes = spec.launch.nproc_per_node.value();
  if (spec.parallel.strategy == spec::Strategy::kNone && processes > 1) {
    throw UserError(
        fmt::format("`parallel.strategy` is none, but `launch.nproc_per_node` became {}", processes),
        "use ddp, or `launch.nproc_per_node: 1`");
  }
  for (const int rank : options.ranks) {
    if (rank < 0 || rank >= processes) {
      throw UserError(fmt::format("--ranks names rank {}, but there are ranks 0 to {}", rank, processes - 1),
                      "name ranks of this job");
    }
  }
  return spec;
}

/// Is the data what the job says?  Warnings go to standard error; errors, all of them, end the command.
void audit_data(const spec::JobSpec& spec) {
  std::vector<Diagnostic> errors;
  for (const Diagnostic& found : data::audit(spec, spec.data.audit).diagnostics) {
    if (found.severity == Severity::kError) {
      errors.push_back(found);
    } else {
      print(stderr, render(found));
    }
  }
  if (!errors.empty()) throw UserError(std::move(errors));
}

int dry_run(const RunOptions& options, const run::Job& job) {
  if (fs::exists(job.dir.root) && !options.new_dir) {
    print(stderr, "note: " + job.dir.root.string() + " exists already; without --new a run would refuse\n");
  }
  const auto stages = chosen_stages(options.stages);
  print(stdout, options.json ? plan_json(job, stages) : plan_text(job, stages));
  return kExitDone;
}

void write_reports(const run::Job& job, const report::RunReport& all) {
  const report::Report& last = all.stages.back();
  write_file_atomically(job.dir.stage_report(last.stage),
                        report::to_json({.job = all.job, .run_dir = all.run_dir, .stages = {last}}));
  write_file_atomically(job.dir.report(), report::to_json(all));
}

/// In the agent: one stage after the other, until one does not pass.
int run_stages(const RunOptions& options, const run::Job& job) {
  launch::Console console(launch::Console::detect(STDERR_FILENO, options.verbose));
  launch::LocalLauncher launcher(console, options.ranks);
  report::RunReport all{.job = job.spec.name, .run_dir = job.dir.root.string()};
  for (const Stage* const stage : chosen_stages(options.stages)) {
    all.stages.push_back(run_stage(*stage, job, launcher));
    console.finish();
    const report::Report& last = all.stages.back();
    write_reports(job, all);
    const bool ran =
        last.verdict == report::Verdict::kPassed || last.verdict == report::Verdict::kCheckFailed;
    const bool to_stdout = ran && !options.json;
    const int fd = to_stdout ? STDOUT_FILENO : STDERR_FILENO;
    // An output that goes away must not end the training; the report is in its file, and the last print says
    // it.
    try {
      print(to_stdout ? stdout : stderr, report::to_text(last, launch::Console::color_wanted(fd)) + "\n");
    } catch (const InfraError&) {
      std::clearerr(stdout);
    }
    if (last.verdict != report::Verdict::kPassed) break;
  }
  print(options.json ? stderr : stdout, "report: " + job.dir.report().string() + "\n");
  if (options.json) print(stdout, report::to_json(all));
  return report::exit_code(all);
}

int run(const RunOptions& options) {
  run::Job job{.spec = load(options), .dir = {}};
  const fs::path wanted = shown(run::wanted_run_dir(job.spec));
  if (options.dry_run) {
    job.dir = {wanted};
    return dry_run(options, job);
  }
  audit_data(job.spec);
  job.dir = run::create_run_dir(wanted, options.new_dir ? run::IfExists::kNumber : run::IfExists::kRefuse);
  write_file_atomically(job.dir.spec(), spec::to_yaml(job.spec), Durability::kNotSynced);
  return launch::under_guard([&] { return run_stages(options, job); });
}

}  // namespace

int run_job(const RunOptions& options) {
  if (!options.json) return run(options);
  try {
    return run(options);
  } catch (const UserError& error) {
    print(stdout, report::error_json(error.what(), kExitUser));
    throw;
  } catch (const InfraError& error) {
    print(stdout, report::error_json(error.what(), kExitInfra));
    throw;
  }
}

}  // namespace trainctl::stages
