// job.h: what a command works on: a checked, resolved spec and the folder of this run.
#pragma once

#include "run/run_dir.h"
#include "spec/job_spec.h"

namespace trainctl::run {

struct Job {
  spec::JobSpec spec;  // resolved; launch.device, nproc_per_node and threads are set
  RunDir dir;
};

}  // namespace trainctl::run
