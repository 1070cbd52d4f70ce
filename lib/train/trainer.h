// trainer.h: one rank of one trial, from an empty process to its result.
#pragma once

#include "run/trial.h"
#include "run/worker_env.h"

namespace trainctl::train {

/// When this process started and what its start cost.
struct ProcessStart {
  int64_t exec_ns = 0;  // CLOCK_MONOTONIC
  double load_s = 0;    // from there to the engine's entry
};

/// Trains as `trial` says.  Rank 0 writes metrics.jsonl and result.json into the trial's folder, status lines
/// to stderr, and the weights where asked.  A signal (SIGTERM, SIGINT) on any rank ends the run on all ranks
/// after the current step, with status `stopped`.  Collective over the ranks of `env`.
///
/// step    counts the steps, for messages about what went wrong
/// throws  UserError, InfraError, NotFinite; c10::Error and gloo's exceptions where a peer is lost
void run_trial(const run::Trial& trial, const run::WorkerEnv& env, const ProcessStart& start, int64_t& step);

}  // namespace trainctl::train
