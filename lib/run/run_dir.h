// run_dir.h: one run is one folder.  What lies where in it, and how a new one comes to be.
//
//   spec.yaml                     the job, resolved: running it again repeats the run
//   trials/<name>/                trial.yaml, trial.json, metrics.jsonl, result.json
//   trials/<name>/attempt-0/      rank-<r>.log, rank-<r>.error.json
//   reports/<stage>.json, report.json
//   model.safetensors             the weights at the end of training
#pragma once

#include <filesystem>
#include <string>

#include "spec/job_spec.h"

namespace trainctl::run {

struct RunDir {
  std::filesystem::path root;

  std::filesystem::path spec() const { return root / "spec.yaml"; }
  std::filesystem::path trial(const std::string& name) const { return root / "trials" / name; }
  std::filesystem::path stage_report(const std::string& stage) const {
    return root / "reports" / (stage + ".json");
  }
  std::filesystem::path report() const { return root / "report.json"; }
  std::filesystem::path weights() const { return root / "model.safetensors"; }
};

/// Where the runs of this job go: `run_dir`, or runs/<name> in the working folder.
std::filesystem::path wanted_run_dir(const spec::JobSpec& job);

enum class IfExists { kRefuse, kNumber };

/// Makes a new run folder with its subfolders.  What exists is never touched: kRefuse throws UserError,
/// kNumber takes the first free of <wanted>, <wanted>-2, <wanted>-3...  The folder is claimed by mkdir, so
/// that two callers at once never share one.  Throws InfraError where nothing can be made (no permission,
/// disk full).
RunDir create_run_dir(const std::filesystem::path& wanted, IfExists if_exists);

}  // namespace trainctl::run
