#include "spec/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "spec/conditions.h"
#include "spec/enum_names.h"

namespace trainctl::spec {

namespace {

bool is_given(const Origin& origin) {
  return origin.kind == Origin::Kind::kFile || origin.kind == Origin::Kind::kSet;
}

// A rule between keys: reports at the first key that the user gave, and names where the others come from.
class Rules {
 public:
  Rules(const JobSpec& spec, const Sources& sources, Problems& problems)
      : job(spec), sources_(sources), problems_(problems) {}

  /// `keys` are those that the message speaks of; nothing is said where one of them could not be read.
  void require(bool holds, std::initializer_list<std::string_view> keys, std::string what,
               std::string help) const {
    if (holds ||
        std::any_of(keys.begin(), keys.end(), [&](auto key) { return sources_.broken.contains(key); }))
      return;
    SourcePos at = sources_.file;
    std::string_view shown;
    for (const std::string_view key : keys) {
      const Origin& origin = sources_.origins.find(key)->second;
      if (!is_given(origin)) continue;
      at = origin.at;
      shown = key;
      break;
    }
    std::string others;
    for (const std::string_view key : keys) {
      if (key == shown) continue;
      others += fmt::format("{}`{}`: {}", others.empty() ? "" : ", ", key,
                            to_string(sources_.origins.find(key)->second));
    }
    problems_.add(at, std::move(what),
                  others.empty() ? std::move(help) : fmt::format("{} ({})", help, others));
  }

  bool broken(std::string_view key) const { return sources_.broken.contains(key); }

  const JobSpec& job;

 private:
  const Sources& sources_;
  Problems& problems_;
};

// A key without which the model cannot be built.
void need(const Rules& rules, bool present, std::string_view key, std::string_view family) {
  rules.require(present || rules.broken(key), {"model.family"},
                fmt::format("`{}` is missing; a {} model needs it", key, family),
                fmt::format("give `{}`, or a `model.preset`", key));
}

void check_model(const Rules& rules) {
  const ModelSpec& m = rules.job.model;
  rules.require(m.family.has_value() || rules.broken("model.family"), {}, "the job names no model",
                "give `model.preset` or `model.family`");
  if (!m.family) return;
  const std::string_view family = name_of(*m.family);
  if (is_transformer(rules.job)) {
    need(rules, m.num_layers.has_value(), "model.num_layers", family);
    need(rules, m.dim.has_value(), "model.dim", family);
    need(rules, m.num_heads.has_value(), "model.num_heads", family);
    need(rules, m.vocab_size.has_value(), "model.vocab_size", family);
    need(rules, m.max_seq_len.has_value(), "model.max_seq_len", family);
    if (is_llama(rules.job)) need(rules, m.ffn_dim.has_value(), "model.ffn_dim", family);
  } else if (m.family == ModelFamily::kResnet) {
    need(rules, m.depth.has_value(), "model.depth", family);
    need(rules, m.num_classes.has_value(), "model.num_classes", family);
    rules.require(!m.depth || *m.depth == 18 || *m.depth == 50, {"model.depth"},
                  fmt::format("`model.depth` is {}, which is not built", m.depth.value_or(0)),
                  "use 18 or 50");
  } else {
    rules.require(m.layer_sizes.size() >= 2, {"model.layer_sizes", "model.family"},
                  "`model.layer_sizes` needs at least the inputs and the classes",
                  "write it like [64, 256, 10]");
  }
}

void check_heads(const Rules& rules) {
  const ModelSpec& m = rules.job.model;
  if (!is_transformer(rules.job) || !m.dim || !m.num_heads) return;
  rules.require(
      *m.dim % *m.num_heads == 0, {"model.num_heads", "model.dim"},
      fmt::format("`model.num_heads` is {}, which does not divide `model.dim` {}", *m.num_heads, *m.dim),
      "change one of them");
  if (!is_llama(rules.job)) return;
  if (m.num_kv_heads) {
    rules.require(*m.num_heads % *m.num_kv_heads == 0, {"model.num_kv_heads", "model.num_heads"},
                  fmt::format("`model.num_kv_heads` is {}, which does not divide `model.num_heads` {}",
                              *m.num_kv_heads, *m.num_heads),
                  "change one of them");
  }
  rules.require(*m.dim % *m.num_heads != 0 || *m.dim / *m.num_heads % 2 == 0,
                {"model.dim", "model.num_heads"},
                fmt::format("a head is {} wide; rotary positions need an even width", *m.dim / *m.num_heads),
                "make `model.dim` / `model.num_heads` even");
  if (has_rope_scaling(rules.job)) {
    rules.require(*m.rope_low_freq_factor < *m.rope_high_freq_factor,
                  {"model.rope_low_freq_factor", "model.rope_high_freq_factor"},
                  fmt::format("`model.rope_low_freq_factor` {} is not below `model.rope_high_freq_factor` {}",
                              *m.rope_low_freq_factor, *m.rope_high_freq_factor),
                  "Llama 3.1 has 1 and 4");
  }
}

void check_formats(const Rules& rules) {
  const JobSpec& j = rules.job;
  const ModelSpec& m = j.model;
  if (!m.family) return;
  const std::string_view format = name_of(j.data.format);
  const bool tokens = has_files(j) && !has_images(j);
  rules.require(
      !tokens || is_transformer(j), {"data.format", "model.family"},
      fmt::format("`data.format` {} holds tokens, and a {} model takes none", format, name_of(*m.family)),
      "use cifar10, idx or synthetic data, or a gpt2 or llama model");
  rules.require(
      !has_images(j) || !is_transformer(j), {"data.format", "model.family"},
      fmt::format("`data.format` {} holds images, and a {} model takes tokens", format, name_of(*m.family)),
      "use text, token files or synthetic data, or a resnet or mlp model");
  if (j.data.format == DataFormat::kCifar10 && m.family == ModelFamily::kMlp && m.layer_sizes.size() >= 2) {
    rules.require(m.layer_sizes.front() == 3072 && m.layer_sizes.back() >= 10,
                  {"model.layer_sizes", "data.format"},
                  "CIFAR-10 has 3072 inputs and 10 classes, which `model.layer_sizes` does not fit",
                  "write it like [3072, 256, 10]");
  }
  if (j.data.format == DataFormat::kCifar10 && m.family == ModelFamily::kResnet) {
    rules.require(
        m.image_size == 32, {"model.image_size", "data.format"},
        fmt::format("`model.image_size` is {}, and CIFAR-10's images are 32 x 32", m.image_size.value_or(0)),
        "use 32");
    rules.require(!m.num_classes || *m.num_classes >= 10, {"model.num_classes", "data.format"},
                  fmt::format("`model.num_classes` is {}, and CIFAR-10 has 10", m.num_classes.value_or(0)),
                  "use 10");
  }
}

void check_data(const Rules& rules) {
  const JobSpec& j = rules.job;
  const DataSpec& d = j.data;
  rules.require(!has_files(j) || !d.train.empty() || rules.broken("data.train"), {"data.format"},
                fmt::format("`data.format` is {}, but `data.train` names no files", name_of(d.format)),
                "give `data.train`");
  rules.require(d.holdout == 0 || d.eval.empty(), {"data.holdout", "data.eval"},
                "`data.holdout` and `data.eval` both say what is held out", "keep one of them");
  if (!is_transformer(j) || !j.model.max_seq_len) return;
  rules.require(!d.seq_len || *d.seq_len <= *j.model.max_seq_len, {"data.seq_len", "model.max_seq_len"},
                fmt::format("`data.seq_len` is {}, above `model.max_seq_len` {}", d.seq_len.value_or(0),
                            *j.model.max_seq_len),
                "shorten the samples or lengthen the model");
}

void check_vocabulary(const Rules& rules) {
  const JobSpec& j = rules.job;
  const TokenizerKind kind = j.tokenizer.kind;
  rules.require(j.data.format != DataFormat::kText || kind != TokenizerKind::kNone || !is_transformer(j),
                {"data.format", "tokenizer.kind"}, "`data.format` is text, and `tokenizer.kind` is none",
                "choose a tokenizer: bytes, sentencepiece or hugging_face");
  rules.require(!has_tokenizer_file(j) || !j.tokenizer.path.empty() || rules.broken("tokenizer.path"),
                {"tokenizer.kind"},
                fmt::format("`tokenizer.kind` is {}, but `tokenizer.path` is missing", name_of(kind)),
                "give the path of its file");
  if (!j.model.family) return;
  rules.require(
      kind == TokenizerKind::kNone || is_transformer(j), {"tokenizer.kind", "model.family"},
      fmt::format("a {} model reads no text, so `tokenizer.kind` has no effect", name_of(*j.model.family)),
      "remove the tokenizer");
  if (!is_transformer(j) || !j.model.vocab_size) return;
  const int64_t vocab = *j.model.vocab_size;
  rules.require(kind != TokenizerKind::kBytes || vocab >= 256, {"model.vocab_size", "tokenizer.kind"},
                fmt::format("`model.vocab_size` is {}, and the bytes tokenizer makes 256 tokens", vocab),
                "use 256 or more");
  rules.require(
      j.data.format != DataFormat::kTokensU16 || vocab <= 65536, {"data.format", "model.vocab_size"},
      fmt::format("`data.format` tokens_u16 holds tokens up to 65535, and `model.vocab_size` is {}", vocab),
      "make the files as tokens_u32, or use the vocabulary they were made with");
  rules.require(vocab <= int64_t{1} << 32, {"model.vocab_size"},
                fmt::format("`model.vocab_size` is {}; no token file holds tokens above 4294967295", vocab),
                "lower it");
}

void check_optimizer(const Rules& rules) {
  const JobSpec& j = rules.job;
  const ScheduleSpec& s = j.schedule;
  const bool nesterov = j.optimizer.kind == OptimizerKind::kSgd && j.optimizer.nesterov;
  rules.require(!nesterov || j.optimizer.momentum > 0, {"optimizer.nesterov", "optimizer.momentum"},
                "`optimizer.nesterov` looks ahead along the momentum, and `optimizer.momentum` is 0",
                "give a momentum such as 0.9");
  const int64_t total = s.total_steps.value_or(j.train.steps);
  const bool fixed = s.kind == ScheduleKind::kConstant;
  const std::string_view end = fixed ? "train.steps" : "schedule.total_steps";
  rules.require(
      s.warmup_steps < total, {"schedule.warmup_steps", end},
      fmt::format("`schedule.warmup_steps` is {}, which leaves none of the {} steps", s.warmup_steps, total),
      "shorten the warm-up");
  rules.require(fixed || !s.min_lr || *s.min_lr <= j.optimizer.lr, {"schedule.min_lr", "optimizer.lr"},
                fmt::format("`schedule.min_lr` is {}, above the peak `optimizer.lr` {}", s.min_lr.value_or(0),
                            j.optimizer.lr),
                "lower it");
  const double stable_end = static_cast<double>(total) * (1 - s.decay_share);
  rules.require(s.kind != ScheduleKind::kWsd || s.warmup_steps >= total ||
                    static_cast<double>(s.warmup_steps) <= stable_end,
                {"schedule.decay_share", "schedule.warmup_steps", end},
                fmt::format("warm-up ({} steps) and the decay of the last {:g} % of {} steps overlap",
                            s.warmup_steps, 100 * s.decay_share, total),
                "shorten one of them");
}

void check_processes(const Rules& rules) {
  const JobSpec& j = rules.job;
  const int64_t processes = j.launch.nproc_per_node.value_or(1);
  rules.require(j.parallel.strategy != Strategy::kNone || processes == 1,
                {"parallel.strategy", "launch.nproc_per_node"},
                fmt::format("`parallel.strategy` is none, and `launch.nproc_per_node` is {}", processes),
                "use ddp, or one process");
}

// "model.family" of "model.family: gpt2 or llama".
std::string_view deciding_key(std::string_view condition) {
  return condition.substr(0, condition.find_first_of(": "));
}

}  // namespace

void check_applies(const JobSpec& spec, const std::vector<Field>& fields, const Sources& sources,
                   Problems& problems) {
  for (const Field& field : fields) {
    const Origin& origin = sources.origins.find(field.path)->second;
    if (!is_given(origin) || field.applies(spec)) continue;
    const std::string_view decider = deciding_key(field.applies_text);
    const auto broken = [&](const std::string& key) {
      return field.applies_text.find(key) != std::string_view::npos;
    };
    if (std::any_of(sources.broken.begin(), sources.broken.end(), broken)) continue;
    const auto other =
        std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.path == decider; });
    problems.add(origin.at,
                 fmt::format("`{}` has no effect here: it belongs to {}", field.path, field.applies_text),
                 fmt::format("remove it, or change `{}`, which is {} ({})", decider, to_text(other->get()),
                             to_string(sources.origins.find(decider)->second)));
  }
}

void check_together(const JobSpec& spec, const Sources& sources, Problems& problems) {
  const Rules rules(spec, sources, problems);
  check_model(rules);
  check_heads(rules);
  check_formats(rules);
  check_data(rules);
  check_vocabulary(rules);
  check_optimizer(rules);
  check_processes(rules);
}

}  // namespace trainctl::spec
