#include "train/trainer.h"

#include <fmt/format.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <thread>

#include "data/file_list.h"
#include "data/open.h"
#include "device/device.h"
#include "device/peak.h"
#include "dist/data_parallel.h"
#include "feed/batch_stream.h"
#include "model/model.h"
#include "model/weights.h"
#include "train/evaluate.h"
#include "train/metrics.h"
#include "train/not_finite.h"
#include "train/process_memory.h"
#include "train/step_log.h"
#include "train/stop_signal.h"
#include "train/train_step.h"
#include "util/clock.h"

namespace trainctl::train {
namespace {

at::ScalarType dtype_of(spec::ComputeDtype compute) {
  switch (compute) {
    case spec::ComputeDtype::kFp32:
      return torch::kFloat32;
    case spec::ComputeDtype::kBf16:
      return torch::kBFloat16;
    case spec::ComputeDtype::kFp16:
      return torch::kFloat16;
  }
  return torch::kFloat32;
}

std::vector<at::Tensor> tensors_of(const std::vector<optim::Parameter>& parameters) {
  std::vector<at::Tensor> tensors;
  for (const auto& parameter : parameters) tensors.push_back(parameter.tensor);
  return tensors;
}

int64_t num_threads(const spec::LaunchSpec& launch, const run::WorkerEnv& env) {
  const int64_t cores = std::thread::hardware_concurrency();
  return launch.threads.value_or(std::max<int64_t>(1, cores / env.local_world_size));
}

class Trainer {
 public:
  Trainer(const run::Trial& trial, const run::WorkerEnv& env, const ProcessStart& start, int64_t& step);
  void run();

 private:
  void build_model();
  Rates rates() const;
  void train();
  void record_steps();
  void check_finite(const std::vector<StepStats>& stats, const std::vector<StepRecord>& records);
  void check_same_files();
  void check_replicas(const std::string& what);
  void evaluate_after(int64_t steps_done);
  void write_result();
  void summarize_losses();
  std::vector<run::RankSummary> gather_ranks();
  bool is_first_rank() const { return group_->rank() == 0; }

  const run::Trial& trial_;
  const spec::JobSpec& spec_;
  const run::WorkerEnv& env_;
  ProcessStart start_;
  int64_t& step_;
  run::TrialResult result_;
  std::optional<double> measured_tflops_;  // of this device; rank 0 only

  std::unique_ptr<device::Backend> backend_;
  std::unique_ptr<dist::Group> group_;
  std::unique_ptr<feed::BatchStream> batches_;
  std::unique_ptr<model::Model> model_;
  std::unique_ptr<TrainStep> train_step_;
  std::unique_ptr<StepLog> log_;
  std::unique_ptr<MetricsWriter> metrics_;  // rank 0 only
  std::vector<StepRecord> records_;
  int64_t skipped_in_a_row_ = 0;
};

Trainer::Trainer(const run::Trial& trial, const run::WorkerEnv& env, const ProcessStart& start, int64_t& step)
    : trial_(trial), spec_(trial.spec), env_(env), start_(start), step_(step) {
  watch_stop_signals();
  const int threads = static_cast<int>(num_threads(spec_.launch, env_));
  at::set_num_threads(threads);
  const bool cuda = spec_.launch.device == spec::Device::kCuda;
  backend_ = device::make_backend(cuda ? "cuda" : "cpu", env_.local_rank, threads);
  if (env_.rank == 0 && spec_.metrics.measure_peak) {  // before the others come, so that they do not slow it
    measured_tflops_ = device::matmul_peak_tflops(*backend_, dtype_of(spec_.precision.compute), threads);
  }
  batches_ = feed::open_training(spec_, env_.rank, env_.world_size, /*first_step=*/0, backend_->device());
  group_ = dist::Group::join(env_, *backend_, spec_.launch.timeout_s);
  build_model();
  train_step_ = std::make_unique<TrainStep>(spec_, *model_, *group_, backend_->device());
  log_ = std::make_unique<StepLog>(*backend_, rates());
  if (is_first_rank())
    metrics_ = std::make_unique<MetricsWriter>(trial_.dir, result_.unit, spec_.metrics.tensorboard);
}

void Trainer::build_model() {
  const int64_t begin_ns = monotonic_ns();
  model_ = model::make_model(spec_.model);
  model::materialize(*model_, spec_.model, spec_.seed, backend_->device());
  model_->train(true);
  for (const auto& [name, tensor] : model_->parameters()) result_.num_parameters += tensor.numel();
  result_.init_s = seconds_since(begin_ns);
  result_.load_s = start_.load_s;
  result_.device = backend_->description();
  result_.unit = data::model_needs(spec_).tokens ? "tokens" : "samples";
  // Initial values come from the seed and a tensor's name alone; what is drawn from here on, dropout, differs
  // by rank.
  torch::manual_seed(static_cast<uint64_t>(spec_.seed) * 1000003 + static_cast<uint64_t>(env_.rank));
}

Rates Trainer::rates() const {
  const data::ModelNeeds needs = data::model_needs(spec_);
  const int64_t tokens_per_sample = needs.tokens ? needs.seq_len : 1;
  const auto samples = static_cast<double>(spec_.train.micro_batch * spec_.train.accumulate *
                                           static_cast<int64_t>(group_->size()));
  const auto of_all_ranks = [&](std::optional<double> tflops) {
    return tflops ? std::optional(*tflops * group_->size()) : std::nullopt;
  };
  const std::optional<double> data_sheet = backend_->spec_peak_tflops(dtype_of(spec_.precision.compute));
  return {.units_per_step = samples * static_cast<double>(tokens_per_sample),
          .flops_per_step = samples * model_->flops_per_sample(tokens_per_sample),
          .spec_tflops = of_all_ranks(spec_.metrics.peak_tflops ? spec_.metrics.peak_tflops : data_sheet),
          .measured_tflops = of_all_ranks(measured_tflops_)};
}

void Trainer::run() {
  check_same_files();
  check_replicas("the initial parameters");
  if (trial_.evaluate && has_held_out(spec_)) {
    result_.eval_loss_before = evaluate(spec_, *model_, *group_, backend_->device()).loss;
  }
  try {
    train();
  } catch (const NotFinite& error) {  // on all ranks alike
    result_.status = run::TrialResult::Status::kFailed;
    result_.message = error.what();
    write_result();
    throw;
  }
  const bool stopped = result_.status == run::TrialResult::Status::kStopped;  // then time is short
  if (!stopped && trial_.evaluate && has_held_out(spec_)) evaluate_after(step_);
  if (trial_.save_weights && is_first_rank()) {
    model::save_weights(*model_, trial_.weights);
    model::save_config(spec_.model, trial_.weights.parent_path());
  }
  write_result();
}

void Trainer::train() {
  const int64_t num_steps = spec_.train.steps;
  const bool reads_at_once = backend_->device().is_cpu();
  for (step_ = 0; step_ < num_steps && !log_->stop_requested(); ++step_) {
    log_->start_step();
    log_->end_step(train_step_->run(*batches_, step_, /*stop_requested=*/stop_signal() != 0));
    const auto is_due = [&](int64_t every) { return every > 0 && (step_ + 1) % every == 0; };
    if (reads_at_once || step_ == 0 || is_due(spec_.metrics.log_every) || step_ + 1 == num_steps)
      record_steps();
    if (is_due(spec_.train.hash_every)) check_replicas(fmt::format("parameters after step {}", step_));
    if (trial_.evaluate && is_due(spec_.eval.every) && step_ + 1 < num_steps) evaluate_after(step_ + 1);
  }
  if (log_->stop_requested()) {
    result_.status = run::TrialResult::Status::kStopped;
    result_.message = fmt::format("a signal asked for an end after {} of {} steps", step_, num_steps);
  } else {
    result_.status = run::TrialResult::Status::kDone;
  }
}

/// Reads the steps that are done, judges and records them.
void Trainer::record_steps() {
  const std::vector<StepStats> stats = log_->pending();
  const std::vector<StepRecord> records = log_->read();
  for (const StepRecord& record : records) {
    records_.push_back(record);
    if (metrics_ != nullptr) metrics_->write(record);
  }
  if (records.front().step == 0) result_.start_to_step0_s = seconds_since(start_.exec_ns);
  const StepRecord& last = records.back();
  const bool is_logged = (last.step + 1) % spec_.metrics.log_every == 0 || last.step + 1 == spec_.train.steps;
  if (metrics_ != nullptr && (is_logged || last.step == 0)) {
    metrics_->flush();
    fmt::print(stderr, "{}\n", status_line(last, spec_.train.steps, result_.unit));
  }
  check_finite(stats, records);
  train_step_->set_num_skipped(result_.skipped_steps);
}

/// Throws NotFinite, on all ranks alike, where a step that was not finite ends the run.
void Trainer::check_finite(const std::vector<StepStats>& stats, const std::vector<StepRecord>& records) {
  for (size_t i = 0; i < records.size(); ++i) {
    skipped_in_a_row_ = records[i].skipped ? skipped_in_a_row_ + 1 : 0;
    if (!records[i].skipped) continue;
    ++result_.skipped_steps;
    const bool overflow = is_overflow(records[i]);
    const bool stops = !overflow && spec_.optimizer.on_nonfinite == spec::NonFinite::kStop;
    const bool too_many = skipped_in_a_row_ >= spec_.optimizer.max_skipped;
    if (overflow && !too_many) {  // as must be now and then, while the loss scale finds its place
      if (is_first_rank()) fmt::print(stderr, "{}\n", overflow_line(records[i]));
      continue;
    }
    const std::string what =
        describe_not_finite(stats[i], train_step_->parameters(), *group_, backend_->device());
    if (metrics_ != nullptr) metrics_->flush();
    if (stops) {
      throw NotFinite(records[i].step, what + "; the update was not applied on any rank",
                      stop_help(records[i]));
    }
    if (too_many) {
      throw NotFinite(records[i].step,
                      fmt::format("{}; this was skipped step {} in a row (optimizer.max_skipped)", what,
                                  skipped_in_a_row_),
                      skip_help(records[i]));
    }
    if (is_first_rank()) fmt::print(stderr, "warning: {}; skipped\n", what);
  }
}

/// Throws InfraError where ranks see other data files: then equal sample numbers would mean other samples.
/// Collective.
void Trainer::check_same_files() {
  if (group_->size() == 1) return;
  std::vector<Diagnostic> found;  // what is wrong with the files was thrown when the data was opened
  std::vector<data::DataFile> files = data::expand_files(spec_.data.train, "data.train", found);
  const std::vector<data::DataFile> held_out = data::expand_files(spec_.data.eval, "data.eval", found);
  files.insert(files.end(), held_out.begin(), held_out.end());
  dist::check_equal(data::list_hash(files), *group_, "paths or sizes of the data files");
}

/// Throws InfraError where ranks hold different parameters.  Collective.
void Trainer::check_replicas(const std::string& what) {
  if (group_->size() == 1) return;
  dist::check_equal(dist::hash_of(tensors_of(train_step_->parameters())), *group_, what);
}

void Trainer::evaluate_after(int64_t steps_done) {
  const Evaluation held_out = evaluate(spec_, *model_, *group_, backend_->device());
  result_.eval_loss = held_out.loss;
  result_.eval_samples = held_out.num_samples;
  if (metrics_ == nullptr) return;
  metrics_->write_evaluation(steps_done, held_out.loss, held_out.num_samples);
  metrics_->flush();
  fmt::print(stderr, "eval after step {}  loss {:.4f}  samples {}\n", steps_done, held_out.loss,
             held_out.num_samples);
}

/// Fills in what is known at the end; rank 0 writes result.json.  Collective.
void Trainer::write_result() {
  result_.steps = static_cast<int64_t>(records_.size());
  result_.step = summarize(records_, trial_.warmup_steps, rates());
  result_.measured_peak_tflops = measured_tflops_;
  result_.parameter_hash = dist::hash_of(tensors_of(train_step_->parameters()));
  if (group_->size() > 1) dist::check_equal(result_.parameter_hash, *group_, "the final parameters");
  result_.ranks = gather_ranks();
  for (const run::RankSummary& rank : result_.ranks) {
    result_.step.data_wait_share = std::max(result_.step.data_wait_share, rank.data_wait_share);
  }
  if (!is_first_rank()) return;
  summarize_losses();
  const data::ModelNeeds needs = data::model_needs(spec_);
  if (result_.eval_loss && needs.tokens) {
    result_.unigram_entropy = data::unigram_entropy(*data::open_datasets(spec_).held_out, needs.vocab_size);
  }
  metrics_->flush();
  run::write_result(result_, trial_.dir);
}

void Trainer::summarize_losses() {
  if (records_.empty()) return;
  const auto tail = static_cast<std::ptrdiff_t>(std::max<size_t>(1, records_.size() / 10));
  const auto add_loss = [](double sum, const StepRecord& r) { return sum + r.loss; };
  result_.first_loss = records_.front().loss;
  result_.final_loss =
      std::accumulate(records_.end() - tail, records_.end(), 0.0, add_loss) / static_cast<double>(tail);
  result_.losses_finite = std::all_of(records_.begin(), records_.end(),
                                      [](const StepRecord& r) { return std::isfinite(r.loss); });
}

std::vector<run::RankSummary> Trainer::gather_ranks() {
  const at::Tensor mine =
      torch::tensor({peak_rss_mb(), backend_->peak_memory_mb().value_or(-1), result_.step.data_wait_share},
                    torch::kFloat64)
          .to(backend_->device());
  std::vector<run::RankSummary> ranks;
  for (const at::Tensor& theirs : group_->all_gather(mine)) {
    const at::Tensor host = theirs.cpu();
    const double* const numbers = host.const_data_ptr<double>();
    run::RankSummary rank{.rank = static_cast<int>(ranks.size()), .peak_rss_mb = numbers[0]};
    if (numbers[1] >= 0) rank.peak_device_mb = numbers[1];
    rank.data_wait_share = numbers[2];
    ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

void run_trial(const run::Trial& trial, const run::WorkerEnv& env, const ProcessStart& start, int64_t& step) {
  Trainer(trial, env, start, step).run();
}

}  // namespace trainctl::train
