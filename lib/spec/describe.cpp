#include "spec/describe.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "spec/conditions.h"
#include "spec/enum_names.h"

namespace trainctl::spec {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

// How a member type is read, and how its value goes into a Value and back.
template <class T>
struct Codec {
  static constexpr Type kType = std::is_same_v<T, bool>                   ? Type::kBool
                                : std::is_same_v<T, int64_t>              ? Type::kInt
                                : std::is_same_v<T, double>               ? Type::kReal
                                : std::is_same_v<T, std::string>          ? Type::kText
                                : std::is_same_v<T, std::vector<int64_t>> ? Type::kIntList
                                                                          : Type::kTextList;
  static Value to_value(const T& member) { return member; }
  static T from_value(const Value& value) { return std::get<T>(value); }
};

template <class E>
requires std::is_enum_v<E>
struct Codec<E> {
  static constexpr Type kType = Type::kChoice;
  static Value to_value(E member) { return std::string(name_of(member)); }
  static E from_value(const Value& value) {
    const auto& names = Names<E>::kAll;
    return static_cast<E>(std::find(names.begin(), names.end(), std::get<std::string>(value)) -
                          names.begin());
  }
};

// Collects the table; `describe` below writes it.
class Fields {
 public:
  void section(std::string_view name) { prefix_ = std::string(name) + "."; }

  template <class T>
  Fields& field(std::string_view key, T& member, std::string_view doc) {
    Field f{.path = prefix_ + std::string(key), .type = Type::kText, .doc = doc};
    if constexpr (kIsOptional<T>) {
      using Inner = typename T::value_type;
      f.has_auto = true;
      f.get = [&member] { return member ? Codec<Inner>::to_value(*member) : Value{}; };
      f.set = [&member](const Value& v) {
        if (std::holds_alternative<std::monostate>(v)) return member.reset();
        member = Codec<Inner>::from_value(v);
      };
      set_type<Inner>(f);
    } else {
      f.get = [&member] { return Codec<T>::to_value(member); };
      f.set = [&member](const Value& v) { member = Codec<T>::from_value(v); };
      set_type<T>(f);
    }
    f.applies = condition_;
    f.applies_text = condition_text_;
    all_.push_back(std::move(f));
    return *this;
  }

  template <class T>
  Fields& field(std::string_view key, T& member, const Limits& limits, std::string_view doc) {
    field(key, member, doc);
    all_.back().limits = limits;
    return *this;
  }

  template <class T>
  Fields& field(std::string_view key, T& member, TextRole role, std::string_view doc) {
    field(key, member, doc);
    all_.back().role = role;
    return *this;
  }

  /// The fields that follow apply only where `condition` holds; always() ends that.
  void when(std::string_view text, std::function<bool(const JobSpec&)> condition) {
    condition_text_ = text;
    condition_ = std::move(condition);
  }
  void always() {
    when("", [](const JobSpec&) { return true; });
  }

  std::vector<Field> take() { return std::move(all_); }

 private:
  template <class T>
  static void set_type(Field& f) {
    f.type = Codec<T>::kType;
    if constexpr (std::is_enum_v<T>) f.choices.assign(Names<T>::kAll.begin(), Names<T>::kAll.end());
  }

  std::string prefix_;
  std::string_view condition_text_;
  std::function<bool(const JobSpec&)> condition_ = [](const JobSpec&) { return true; };
  std::vector<Field> all_;
};

void describe(Fields& f, LaunchSpec& s) {
  f.field("nproc_per_node", s.nproc_per_node, up_to_4096,
          "worker processes on each node; auto: its GPUs, or its cores without any");
  f.field("device", s.device, "where the model runs; auto: CUDA where a GPU answers, else the CPU");
  f.field("threads", s.threads, at_least_1, "CPU threads of a process; auto: cores / processes, at least 1");
  f.field("timeout_s", s.timeout_s, positive,
          "how long a collective, or coming together, may wait for a peer");
  f.field("kill_timeout_s", s.kill_timeout_s, non_negative,
          "from SIGTERM to SIGKILL when the group is stopped");
}

void describe(Fields& f, ModelSpec& s) {
  f.field("preset", s.preset,
          "a named model, which fills every model key left out: `trainctl schema` lists them");
  f.field("family", s.family, "kind of network; auto: the preset's");
  f.when("model.family: gpt2 or llama", is_transformer);
  f.field("num_layers", s.num_layers, at_least_1, "transformer blocks");
  f.field("dim", s.dim, at_least_1, "width of the residual stream");
  f.field("num_heads", s.num_heads, at_least_1, "query heads; divides dim");
  f.field("ffn_dim", s.ffn_dim, at_least_1,
          "hidden width of the feed-forward part; auto: 4 dim for gpt2, the preset's for llama");
  f.field("vocab_size", s.vocab_size, at_least_1, "tokens of the vocabulary");
  f.field("max_seq_len", s.max_seq_len, at_least_1, "longest sequence, in tokens");
  f.field("tied_embeddings", s.tied_embeddings,
          "the head shares the embedding's weight; auto: true for gpt2, false for llama");
  f.field("norm_eps", s.norm_eps, positive, "added to the variance in each norm; auto: 1e-5");
  f.when("model.family: gpt2", [](const JobSpec& j) { return j.model.family == ModelFamily::kGpt2; });
  f.field("dropout", s.dropout, below_1, "share of activations set to zero in training; auto: 0");
  f.when("model.family: llama", is_llama);
  f.field("num_kv_heads", s.num_kv_heads, at_least_1,
          "key and value heads; divides num_heads; auto: num_heads");
  f.field("rope_theta", s.rope_theta, positive, "base of the rotary embedding's wavelengths; auto: 10000");
  f.field("rope_scaling", s.rope_scaling, "how wavelengths stretch beyond the trained length; auto: none");
  f.when("model.rope_scaling: llama3.1", has_rope_scaling);
  f.field("rope_factor", s.rope_factor, positive, "stretch of long wavelengths; auto: 8");
  f.field("rope_low_freq_factor", s.rope_low_freq_factor, positive,
          "wavelengths above original length / this stretch fully; auto: 1");
  f.field("rope_high_freq_factor", s.rope_high_freq_factor, positive,
          "wavelengths below original length / this stay; auto: 4");
  f.field("rope_original_max_seq_len", s.rope_original_max_seq_len, at_least_1,
          "length before stretching, in tokens; auto: 8192");
  f.when("model.family: mlp", [](const JobSpec& j) { return j.model.family == ModelFamily::kMlp; });
  f.field("layer_sizes", s.layer_sizes, at_least_1, "widths, inputs first, classes last");
  f.when("model.family: resnet", [](const JobSpec& j) { return j.model.family == ModelFamily::kResnet; });
  f.field("depth", s.depth, at_least_1, "18 or 50");
  f.field("num_classes", s.num_classes, at_least_1, "outputs");
  f.field("image_size", s.image_size, at_least_1,
          "height and width in pixels; auto: 32 with the CIFAR stem, else 224");
  f.field("cifar_stem", s.cifar_stem, "3x3 stride 1 first convolution and no max pool; auto: false");
  f.always();
  f.field("init_from", s.init_from, TextRole::kExistingFile,
          "safetensors file with the initial weights (Hugging Face's or torchvision's names); left out: made "
          "from the seed");
}

void describe(Fields& f, DataSpec& s) {
  f.field("format", s.format, "what the files hold; synthetic needs none");
  f.when("data.format other than synthetic", has_files);
  f.field("train", s.train, TextRole::kExistingPath, "files, folders or globs");
  f.field("eval", s.eval, TextRole::kExistingPath, "held-out files, folders or globs");
  f.always();
  f.field("holdout", s.holdout, below_1,
          "share of the samples, at the end of the data, that is kept for evaluation");
  f.when("model.family: gpt2 or llama", is_transformer);
  f.field("seq_len", s.seq_len, at_least_1, "tokens of a sample; auto: model.max_seq_len");
  f.always();
  f.field("shuffle", s.shuffle, "draw a new order for each epoch from the seed; false: the files' order");
  f.field("last_batch", s.last_batch,
          "samples that do not fill an epoch's last step: drop them, or pad with the epoch's first");
  f.field("num_workers", s.num_workers, non_negative,
          "prefetch threads of a process; 0: read within the step");
  f.when("data.num_workers above 0", [](const JobSpec& j) { return j.data.num_workers > 0; });
  f.field("prefetch", s.prefetch, at_least_1, "batches read ahead");
  f.always();
  f.field("audit", s.audit, "check of the files at the start of a run");
  f.field("ignore_index", s.ignore_index, any, "a target of this value counts for nothing in the loss");
}

void describe(Fields& f, TokenizerSpec& s) {
  f.field("kind", s.kind, "how text becomes tokens; bytes: one token a byte; hugging_face: a tokenizer.json");
  f.when("tokenizer.kind: sentencepiece or hugging_face", has_tokenizer_file);
  f.field("path", s.path, TextRole::kExistingFile, "its .model or tokenizer.json file");
  f.always();
}

void describe(Fields& f, OptimizerSpec& s) {
  f.field("kind", s.kind, "the update rule");
  f.field("lr", s.lr, positive, "peak learning rate, reached after warm-up");
  f.when("optimizer.kind: adamw", [](const JobSpec& j) { return j.optimizer.kind == OptimizerKind::kAdamW; });
  f.field("beta1", s.beta1, below_1, "decay of the gradient's running mean");
  f.field("beta2", s.beta2, below_1, "decay of the squared gradient's running mean");
  f.field("eps", s.eps, positive, "added to the root of the second moment");
  f.when("optimizer.kind: sgd", [](const JobSpec& j) { return j.optimizer.kind == OptimizerKind::kSgd; });
  f.field("momentum", s.momentum, below_1, "share of the last update that is kept");
  f.field("nesterov", s.nesterov, "look ahead along the momentum");
  f.always();
  f.field("weight_decay", s.weight_decay, non_negative, "adamw: decoupled decay; sgd: added to the gradient");
  f.field("decay", s.decay, "which parameters decay: those of two and more dims, or all");
  f.field("clip_norm", s.clip_norm, non_negative, "limit of the gradients' global L2 norm; 0: no clipping");
  f.field("on_nonfinite", s.on_nonfinite,
          "a loss or gradient that is not finite: stop the run, or skip the step on all ranks; with fp16 a "
          "gradient alone is skipped either way");
  f.when("optimizer.on_nonfinite: skip, or precision.compute: fp16",
         [](const JobSpec& j) { return j.optimizer.on_nonfinite == NonFinite::kSkip || scales_loss(j); });
  f.field("max_skipped", s.max_skipped, at_least_1, "steps skipped in a row before the run stops");
  f.always();
}

void describe(Fields& f, ScheduleSpec& s) {
  f.field("kind", s.kind, "how the learning rate falls after warm-up; wsd: warm-up, stable, decay");
  f.field("warmup_steps", s.warmup_steps, non_negative,
          "steps in which the learning rate rises linearly from 0");
  f.when("schedule.kind other than constant", decays);
  f.field("total_steps", s.total_steps, at_least_1, "step at which min_lr is reached; auto: train.steps");
  f.field("min_lr", s.min_lr, non_negative, "learning rate at the end; auto: optimizer.lr / 10");
  f.when("schedule.kind: wsd", [](const JobSpec& j) { return j.schedule.kind == ScheduleKind::kWsd; });
  f.field("decay_share", s.decay_share, open_share,
          "last part of the steps, in which the learning rate falls linearly to min_lr");
  f.always();
}

void describe(Fields& f, TrainSpec& s) {
  f.field("steps", s.steps, at_least_1, "optimizer steps");
  f.field("micro_batch", s.micro_batch, at_least_1, "samples of a process in one forward pass");
  f.field("accumulate", s.accumulate, at_least_1,
          "forward passes of a step; a step takes micro_batch * accumulate * processes samples");
  f.field("hash_every", s.hash_every, non_negative,
          "steps between checks that all ranks hold equal parameters; 0: only at the first step");
}

void describe(Fields& f, PrecisionSpec& s) {
  f.field(
      "compute", s.compute,
      "dtype of the forward pass (autocast's list of ops); parameters and optimizer state stay fp32; fp16 "
      "scales the loss");
  f.when("precision.compute: fp16", scales_loss);
  f.field("loss_scale", s.loss_scale, positive,
          "what the loss is multiplied by at first, so that small gradients do not vanish in fp16; halved "
          "after each step whose gradients overflow");
  f.field("loss_scale_window", s.loss_scale_window, at_least_1,
          "steps in a row without overflow after which the loss scale doubles");
  f.always();
}

void describe(Fields& f, ParallelSpec& s) {
  f.field(
      "strategy", s.strategy,
      "how processes share the work; ddp: replicas that average gradients; auto: ddp for several processes");
  f.when("parallel.strategy other than none",
         [](const JobSpec& j) { return j.parallel.strategy != Strategy::kNone; });
  f.field("bucket_mb", s.bucket_mb, positive, "gradients averaged together, in MiB");
  f.field("first_bucket_mb", s.first_bucket_mb, positive,
          "the first of them, in MiB; small, so that communication starts early");
  f.always();
}

void describe(Fields& f, EvalSpec& s) {
  f.when("data.eval or data.holdout given", has_held_out);
  f.field("every", s.every, non_negative, "steps between evaluations; 0: only at the end");
  f.field("max_samples", s.max_samples, non_negative, "held-out samples of one evaluation; 0: each once");
  f.field("micro_batch", s.micro_batch, at_least_1,
          "samples of a process in one pass; auto: train.micro_batch");
  f.always();
}

void describe(Fields& f, MetricsSpec& s) {
  f.field("log_every", s.log_every, at_least_1,
          "steps between lines on the terminal and reads of the device");
  f.field("tensorboard", s.tensorboard, "also write TensorBoard event files");
  f.field("peak_tflops", s.peak_tflops, positive,
          "peak of one device, for MFU; auto: its data sheet's, where it is known");
  f.field("measure_peak", s.measure_peak,
          "measure this machine's matmul peak once and keep it in the user's cache");
}

void describe(Fields& f, BaselineSpec& s) {
  f.field("steps", s.steps, at_least_1, "measured steps");
  f.field("warmup_steps", s.warmup_steps, non_negative, "steps before them, left out of the throughput");
  f.field("max_data_wait", s.max_data_wait, open_share,
          "share of the step time that may be spent waiting for data");
}

}  // namespace

const Limits any{-kInf, kInf, false, false, ""};
const Limits positive{0, kInf, true, false, "greater than 0"};
const Limits non_negative{0, kInf, false, false, "0 or more"};
const Limits up_to_4096{1, 4096, false, false, "1 to 4096"};
const Limits at_least_1{1, kInf, false, false, "1 or more"};
const Limits open_share{0, 1, true, false, "greater than 0, at most 1"};
const Limits below_1{0, 1, false, true, "0 or more, below 1"};

bool Limits::hold(double value) const {
  return (low_open ? value > low : value >= low) && (high_open ? value < high : value <= high);
}

const std::vector<Section>& sections() {
  static const std::vector<Section> kAll = {
      {"launch", "processes and where they run"},
      {"model", "the network"},
      {"data", "what it learns from"},
      {"tokenizer", "how text becomes tokens"},
      {"optimizer", "how parameters are updated"},
      {"schedule", "the learning rate over the steps"},
      {"train", "how long, and in what portions"},
      {"precision", "which dtype where"},
      {"parallel", "how processes share the work"},
      {"eval", "the loss on held-out data"},
      {"metrics", "what is recorded"},
      {"baseline", "the stage that runs before training"},
  };
  return kAll;
}

std::vector<Field> fields_of(JobSpec& spec) {
  Fields f;
  f.field("name", spec.name, TextRole::kName,
          "names the run's folder and its report: letters, digits, `.`, `_`, `-`");
  f.field("run_dir", spec.run_dir, TextRole::kPath,
          "folder of the run; left out: `runs/NAME` in the current folder");
  f.field("seed", spec.seed, non_negative, "of initial weights, data order and dropout");
  f.section("launch"), describe(f, spec.launch);
  f.section("model"), describe(f, spec.model);
  f.section("data"), describe(f, spec.data);
  f.section("tokenizer"), describe(f, spec.tokenizer);
  f.section("optimizer"), describe(f, spec.optimizer);
  f.section("schedule"), describe(f, spec.schedule);
  f.section("train"), describe(f, spec.train);
  f.section("precision"), describe(f, spec.precision);
  f.section("parallel"), describe(f, spec.parallel);
  f.section("eval"), describe(f, spec.eval);
  f.section("metrics"), describe(f, spec.metrics);
  f.section("baseline"), describe(f, spec.baseline);
  return f.take();
}

}  // namespace trainctl::spec
