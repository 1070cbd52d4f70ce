#include "spec/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "util/diagnostic.h"

namespace trainctl::spec {

namespace {

// Names that other programs use for our keys.
struct Synonym {
  std::string_view name, key;
};
constexpr Synonym kSynonyms[] = {
    {"learning_rate", "optimizer.lr"},
    {"max_lr", "optimizer.lr"},
    {"wd", "optimizer.weight_decay"},
    {"grad_clip", "optimizer.clip_norm"},
    {"gradient_clip_val", "optimizer.clip_norm"},
    {"max_grad_norm", "optimizer.clip_norm"},
    {"type", "optimizer.kind"},
    {"batch_size", "train.micro_batch"},
    {"micro_batch_size", "train.micro_batch"},
    {"per_device_train_batch_size", "train.micro_batch"},
    {"eval_batch_size", "eval.micro_batch"},
    {"gradient_accumulation_steps", "train.accumulate"},
    {"grad_accum", "train.accumulate"},
    {"epochs", "train.steps"},
    {"num_epochs", "train.steps"},
    {"num_train_epochs", "train.steps"},
    {"max_steps", "train.steps"},
    {"num_steps", "train.steps"},
    {"total_steps", "schedule.total_steps"},
    {"iterations", "train.steps"},
    {"max_iters", "train.steps"},
    {"warmup", "schedule.warmup_steps"},
    {"num_warmup_steps", "schedule.warmup_steps"},
    {"lr_scheduler", "schedule.kind"},
    {"lr_scheduler_type", "schedule.kind"},
    {"lr_decay_steps", "schedule.total_steps"},
    {"dtype", "precision.compute"},
    {"bf16", "precision.compute"},
    {"fp16", "precision.compute"},
    {"init_scale", "precision.loss_scale"},
    {"growth_interval", "precision.loss_scale_window"},
    {"mixed_precision", "precision.compute"},
    {"nproc", "launch.nproc_per_node"},
    {"num_gpus", "launch.nproc_per_node"},
    {"gpus", "launch.nproc_per_node"},
    {"num_processes", "launch.nproc_per_node"},
    {"num_threads", "launch.threads"},
    {"n_layer", "model.num_layers"},
    {"num_hidden_layers", "model.num_layers"},
    {"layers", "model.num_layers"},
    {"n_head", "model.num_heads"},
    {"num_attention_heads", "model.num_heads"},
    {"num_key_value_heads", "model.num_kv_heads"},
    {"n_embd", "model.dim"},
    {"hidden_size", "model.dim"},
    {"d_model", "model.dim"},
    {"intermediate_size", "model.ffn_dim"},
    {"block_size", "data.seq_len"},
    {"context_length", "model.max_seq_len"},
    {"max_position_embeddings", "model.max_seq_len"},
    {"rms_norm_eps", "model.norm_eps"},
    {"layer_norm_epsilon", "model.norm_eps"},
    {"tie_word_embeddings", "model.tied_embeddings"},
    {"checkpoint", "model.init_from"},
    {"pretrained", "model.init_from"},
    {"dataset", "data.train"},
    {"train_files", "data.train"},
    {"val", "data.eval"},
    {"validation", "data.eval"},
    {"val_interval", "eval.every"},
    {"eval_interval", "eval.every"},
    {"eval_steps", "eval.every"},
    {"num_loader_workers", "data.num_workers"},
    {"prefetch_factor", "data.prefetch"},
    {"log_interval", "metrics.log_every"},
    {"logging_steps", "metrics.log_every"},
    {"output_dir", "run_dir"},
    {"out_dir", "run_dir"},
    {"random_seed", "seed"},
};

// The same for sections.
constexpr Synonym kSectionSynonyms[] = {
    {"optim", "optimizer"}, {"scheduler", "schedule"},   {"lr_scheduler", "schedule"}, {"dataset", "data"},
    {"training", "train"},  {"trainer", "train"},        {"evaluation", "eval"},       {"validation", "eval"},
    {"logging", "metrics"}, {"distributed", "parallel"}, {"parallelism", "parallel"},  {"network", "model"},
};

constexpr size_t kLongestTypo = 64;  // the edit distance is quadratic

std::string folded(std::string_view name) {
  std::string out(name);
  for (char& c : out) c = c == '-' ? '_' : static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return out;
}

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('.') + 1); }

std::string did_you_mean(std::string_view key) {
  std::string help = fmt::format("did you mean `{}`?", key);
  if (key == "train.steps") help += " (it counts optimizer steps)";
  return help;
}

// A last part of a path, or a whole path, by whatever it is nearest to.
std::string nearest_path(std::string_view name, const std::vector<Field>& fields, std::string_view section) {
  std::map<std::string, std::string> path_of;
  std::vector<std::string> names;
  for (const Field& field : fields) {
    if (!field.path.starts_with(section)) continue;
    names.emplace_back(last_part(field.path));
    path_of.emplace(names.back(), field.path);  // the first section that has it
  }
  const std::string best = nearest(name, names);
  return best.empty() ? "" : path_of.at(best);
}

}  // namespace

std::string suggest_key(std::string_view path, const std::vector<Field>& fields) {
  const std::string all = "`trainctl schema` lists all keys";
  if (path.size() > kLongestTypo) return all;
  const std::string name = folded(last_part(path));
  const size_t dot = path.find('.');
  const std::string section(dot == std::string_view::npos ? "" : path.substr(0, dot + 1));
  const auto same = [&](const Field& f) { return f.path == section + name; };
  if (std::any_of(fields.begin(), fields.end(), same)) return did_you_mean(section + name);
  for (const Synonym& synonym : kSectionSynonyms) {
    if (section.empty() && synonym.name == name) return did_you_mean(synonym.key);
  }
  for (const Synonym& synonym : kSynonyms) {
    if (synonym.name == name) return did_you_mean(synonym.key);
  }
  if (section.empty()) {
    std::vector<std::string> names = {"name", "run_dir", "seed"};
    for (const Section& s : sections()) names.emplace_back(s.name);
    if (const std::string best = nearest(name, names); !best.empty()) return did_you_mean(best);
  } else if (const std::string best = nearest_path(name, fields, section); !best.empty()) {
    return did_you_mean(best);
  }
  const std::string best = nearest_path(name, fields, "");
  return best.empty() ? all : did_you_mean(best);
}

}  // namespace trainctl::spec
