// run_job.h: from a job file to a report: what `trainctl run` and the verbs of single stages do.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trainctl::stages {

struct RunOptions {
  std::filesystem::path file;
  std::vector<std::string> sets;    // "key=value", later wins
  std::vector<std::string> stages;  // names, in order; empty: all
  bool new_dir = false;             // take a numbered folder where the run's folder exists
  bool json = false;                // one document on standard output, all else on standard error
  bool dry_run = false;             // print spec, trials, ranks and environment; start nothing
  bool verbose = false;
  std::vector<int> ranks = {0};  // whose output goes to the terminal
};

/// Returns an exit code.  Throws UserError and InfraError, in a run that has begun from the agent's process
/// only.
int run_job(const RunOptions& options);

}  // namespace trainctl::stages
