// worker.h: what the verbs of the engine's entry do (run/engine_entry.h).
#pragma once

#include <exception>
#include <string>

#include "run/trial.h"

namespace trainctl::train {

/// One rank of the trial in `dir`, told who it is by its environment.  Where it fails, its last words go to
/// rank-<r>.error.json and stderr.  Returns the exit code: 0 also where a signal stopped the run (result.json
/// says so).
int run_worker(const std::string& dir);

/// The verb "generate": prints the prompt and sampled text to stdout, as it comes.
/// argument  JSON: {"run": DIR, "prompt": TEXT, "tokens": 200, "temperature": 0.8, "top_k": 50, "seed": 0};
/// DIR is a
///           run's folder or a trial's
/// throws    UserError where the run has no weights or no tokenizer, or the prompt is empty
int generate(const std::string& argument);

/// What an exception means to the launcher: kind, text, help; `rank`, `step` and time are left to the caller.
/// The only place that knows LibTorch's, gloo's and CUDA's exceptions.
run::WorkerError describe(const std::exception& error);

/// The exit code that goes with a kind.
int exit_code_of(const std::string& kind);

}  // namespace trainctl::train
