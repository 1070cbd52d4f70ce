// job_spec.h: what a job file says, as plain values.  One struct per section, one member per key: the member
// `optimizer.lr` is the key `optimizer.lr`.  Defaults stand here; meaning, units and limits of each key stand
// in describe.h, which the reader, `--set`, the printer and the reference (configs/SCHEMA.md) all use.
//
// A value `auto` in the file is an empty optional here; describe.cpp says what each becomes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainctl::spec {

enum class Device { kAuto, kCpu, kCuda };
enum class ModelFamily { kMlp, kGpt2, kLlama, kResnet };
enum class RopeScaling { kNone, kLlama31 };
enum class DataFormat { kText, kTokensU16, kTokensU32, kLlmc, kMegatron, kCifar10, kIdx, kSynthetic };
enum class LastBatch { kDrop, kPad };
enum class AuditLevel { kOff, kSampled, kFull };
enum class TokenizerKind { kNone, kBytes, kSentencepiece, kHuggingface };
enum class OptimizerKind { kAdamW, kSgd };
enum class DecayTensors { kMatrices, kAll };
enum class NonFinite { kStop, kSkip };
enum class ScheduleKind { kConstant, kLinear, kCosine, kWsd };
enum class ComputeDtype { kFp32, kBf16, kFp16 };
enum class Strategy { kAuto, kNone, kDdp };

struct LaunchSpec {
  std::optional<int64_t> nproc_per_node = 1;  // auto: the GPUs, or on CPUs the cores
  Device device = Device::kAuto;
  std::optional<int64_t> threads;  // per process; auto: cores / processes, at least 1
  double timeout_s = 300;          // of a collective, and of coming together
  double kill_timeout_s = 10;      // from SIGTERM to SIGKILL
};

struct ModelSpec {
  std::string preset;  // a row of presets.h; fills every key below that the file leaves out
  std::optional<ModelFamily> family;
  // transformers
  std::optional<int64_t> num_layers, dim, num_heads, num_kv_heads, ffn_dim, vocab_size, max_seq_len;
  std::optional<bool> tied_embeddings;
  std::optional<double> dropout;
  std::optional<double> norm_eps;
  std::optional<double> rope_theta;
  std::optional<RopeScaling> rope_scaling;
  std::optional<double> rope_factor, rope_low_freq_factor, rope_high_freq_factor;  // Llama 3.1's scaling
  std::optional<int64_t> rope_original_max_seq_len;
  // mlp: layer sizes, input first, classes last
  std::vector<int64_t> layer_sizes;
  // resnet
  std::optional<int64_t> depth, num_classes, image_size;  // depth 18 or 50
  std::optional<bool> cifar_stem;                         // 3x3 stride 1, no max pool
  // start from these weights (Hugging Face's or torchvision's names); empty: from the seed
  std::string init_from;
};

struct DataSpec {
  DataFormat format = DataFormat::kSynthetic;
  std::vector<std::string> train;  // files, folders or globs, absolute after reading
  std::vector<std::string> eval;   // held-out files; or `holdout` of the training files
  double holdout = 0;              // share of the samples at the end of the data that is kept for evaluation
  std::optional<int64_t> seq_len;  // tokens of a sample; auto: model.max_seq_len
  bool shuffle = true;
  LastBatch last_batch = LastBatch::kDrop;
  int64_t num_workers = 1;                  // prefetch threads; 0: read in the step
  int64_t prefetch = 2;                     // batches read ahead
  AuditLevel audit = AuditLevel::kSampled;  // at the start of a run
  int64_t ignore_index = -100;              // a target of this value counts for nothing
};

struct TokenizerSpec {
  TokenizerKind kind = TokenizerKind::kNone;
  std::string path;
};

struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::kAdamW;
  double lr = 3e-4;
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8;  // adamw
  double momentum = 0;                           // sgd
  bool nesterov = false;
  double weight_decay = 0.1;
  DecayTensors decay = DecayTensors::kMatrices;  // which parameters: of two and more dims, or all
  double clip_norm = 1.0;                        // global L2 norm; 0: no clipping
  NonFinite on_nonfinite = NonFinite::kStop;     // a loss or gradient that is not finite
  int64_t max_skipped = 10;                      // steps skipped in a row before the run stops
};

struct ScheduleSpec {
  ScheduleKind kind = ScheduleKind::kCosine;
  int64_t warmup_steps = 0;
  std::optional<int64_t> total_steps;  // auto: train.steps
  std::optional<double> min_lr;        // auto: optimizer.lr / 10
  double decay_share = 0.2;            // wsd: the last part, in which lr falls linearly to min_lr
};

struct TrainSpec {
  int64_t steps = 100;
  int64_t micro_batch = 8;  // samples per process and micro-step
  int64_t accumulate = 1;   // micro-steps per step
  int64_t hash_every = 0;   // steps between checks that all ranks hold equal parameters; 0: only at step 0
};

struct PrecisionSpec {
  ComputeDtype compute = ComputeDtype::kFp32;  // parameters and optimizer state stay fp32
  double loss_scale = 65536;                   // fp16: at the start
  int64_t loss_scale_window = 2000;            // fp16: steps without overflow until it doubles
};

struct ParallelSpec {
  Strategy strategy = Strategy::kAuto;  // auto: ddp for more than one process
  double bucket_mb = 25;
  double first_bucket_mb = 1;
};

struct EvalSpec {
  int64_t every = 0;                   // steps; 0: only at the end, where there is held-out data
  int64_t max_samples = 0;             // 0: every held-out sample once
  std::optional<int64_t> micro_batch;  // auto: train.micro_batch
};

struct MetricsSpec {
  int64_t log_every = 10;  // steps between lines on the terminal and reads of the device
  bool tensorboard = false;
  std::optional<double> peak_tflops;  // per device, for MFU; auto: the device's data sheet, if it is known
  bool measure_peak = true;           // measure this machine's matmul peak once, keep it in the user's cache
};

struct BaselineSpec {
  int64_t steps = 20;          // measured
  int64_t warmup_steps = 3;    // before them, left out of the throughput
  double max_data_wait = 0.1;  // share of the step time that may be spent waiting for data
};

struct JobSpec {
  std::string name = "job";
  std::string run_dir;  // default: runs/<name> beside the working directory
  int64_t seed = 0;
  LaunchSpec launch;
  ModelSpec model;
  DataSpec data;
  TokenizerSpec tokenizer;
  OptimizerSpec optimizer;
  ScheduleSpec schedule;
  TrainSpec train;
  PrecisionSpec precision;
  ParallelSpec parallel;
  EvalSpec eval;
  MetricsSpec metrics;
  BaselineSpec baseline;
};

}  // namespace trainctl::spec
