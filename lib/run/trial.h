// trial.h: what control asks of a group of workers, and what comes back.  They cross the torch wall as files
// in the trial's folder: trial.yaml (the resolved spec) and trial.json go in, metrics.jsonl and result.json
// come out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "spec/job_spec.h"

namespace trainctl::run {

/// One run of the trainer: the spec says what to train, the rest what to do besides.
struct Trial {
  std::string name;           // "baseline", "train"
  std::filesystem::path dir;  // <run>/trials/<name>
  spec::JobSpec spec;         // resolved; launch.nproc_per_node is a number
  int64_t warmup_steps = 0;   // first steps, left out of every throughput figure
  bool evaluate = false;      // evaluate as `eval` says, and at the end
  bool save_weights = false;  // rank 0 writes model.safetensors into `weights`
  std::filesystem::path weights;
};

/// Throughput and timing of the steps after the warm-up, over all ranks.
struct StepSummary {
  double median_ms = 0, p10_ms = 0, p90_ms = 0;
  double per_s = 0;            // tokens a second, or samples where the data has no tokens; all ranks together
  double data_wait_share = 0;  // of the step time, worst rank
  double flops_per_step = 0;   // model FLOPs, all ranks (model.h says how they are counted)
  std::optional<double> mfu;   // against the data sheet's peak
  std::optional<double> mfu_measured;  // against the measured matmul peak
};

struct RankSummary {
  int rank = 0;
  double peak_rss_mb = 0;
  std::optional<double> peak_device_mb;
  double data_wait_share = 0;
};

/// What one trial showed.  Written by rank 0; `status` says how it ended.
struct TrialResult {
  enum class Status { kDone, kStopped, kFailed };  // kStopped: a signal asked for it, at a step's end
  Status status = Status::kFailed;
  std::string message;          // why it failed or stopped, else empty
  std::string device;           // "cpu: AMD EPYC, 1 thread", "cuda: NVIDIA H100 80GB HBM3"
  std::string unit = "tokens";  // what per_s counts
  int64_t num_parameters = 0;
  int64_t steps = 0;                      // steps done
  int64_t skipped_steps = 0;              // not finite, skipped
  double first_loss = 0, final_loss = 0;  // of the first step; mean of the last tenth of the steps
  bool losses_finite = false;
  std::optional<double> eval_loss_before, eval_loss;  // mean over the held-out samples, each counted once
  int64_t eval_samples = 0;
  std::optional<double> unigram_entropy;  // nats a token of the held-out data under its own frequencies
  StepSummary step;
  std::vector<RankSummary> ranks;
  std::string parameter_hash;     // XXH3-128 of all parameters after the last step
  double start_to_step0_s = 0;    // from the worker's exec to its first step's record
  double load_s = 0, init_s = 0;  // loading the engine; making the model and its weights
  std::optional<double> measured_peak_tflops;
};

void write_trial(const Trial& trial);                // throws InfraError
Trial read_trial(const std::filesystem::path& dir);  // throws UserError with file and line
void write_result(const TrialResult& result, const std::filesystem::path& dir);
std::optional<TrialResult> read_result(const std::filesystem::path& dir);  // nullopt: there is none

/// A dying worker's last words, `rank-<r>.error.json` in the attempt's folder.
struct WorkerError {
  int rank = 0;
  int64_t step = -1;  // -1: before the first step
  std::string kind;   // "user", "infra", "not_finite", "bug"
  std::string what, help;
  int64_t monotonic_ns = 0;  // CLOCK_MONOTONIC, to find the earliest
};
void write_worker_error(const WorkerError& error, const std::filesystem::path& attempt_dir);
std::vector<WorkerError> read_worker_errors(const std::filesystem::path& attempt_dir);  // earliest first

}  // namespace trainctl::run
