#include "data/open.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/synthetic.h"
#include "data/text_files.h"

namespace trainctl::data {

namespace {

bool has_error(const std::vector<Diagnostic>& found) {
  return std::any_of(found.begin(), found.end(),
                     [](const auto& d) { return d.severity == Severity::kError; });
}

int64_t needed(const std::optional<int64_t>& value, const char* key) {
  if (!value)
    throw UserError(fmt::format("`{}` is not set, but the data needs it", key),
                    "set it, or name a `model.preset`");
  return *value;
}

bool holds_tokens(spec::DataFormat format) {
  return format != spec::DataFormat::kCifar10 && format != spec::DataFormat::kIdx;
}

std::shared_ptr<const Dataset> synthetic(const ModelNeeds& needs) {
  if (needs.tokens) return make_synthetic_tokens(needs.seq_len, needs.vocab_size);
  return make_synthetic_features(needs.dims, needs.num_classes);
}

/// Windows shorter than a sample are left out, with a warning.
std::shared_ptr<const Dataset> cut_tokens(Source& source, const ModelNeeds& needs,
                                          std::vector<Diagnostic>& found) {
  const auto least = static_cast<uint64_t>(needs.seq_len) + 1;
  std::vector<TokenStream> kept;
  for (const auto& stream : source.streams) {
    if (stream.size() >= least) {
      kept.push_back(stream);
      continue;
    }
    ++source.num_skipped;
    found.push_back(
        {.at = {.file = stream.place(0).path},
         .what = fmt::format("has {} tokens, fewer than the {} of one sample: skipped", stream.size(), least),
         .help = "lower `data.seq_len`, or join small files",
         .severity = Severity::kWarning});
  }
  if (kept.empty()) return nullptr;
  return make_token_dataset(std::move(kept), needs.seq_len, needs.vocab_size);
}

std::shared_ptr<const Dataset> cut_images(const Source& source, const ModelNeeds& needs,
                                          std::vector<Diagnostic>& found) {
  if (source.images.empty()) return nullptr;
  const std::vector<int64_t> first = source.images.front().dims;
  const std::vector<int64_t> dims = needs.dims.empty() ? first : needs.dims;
  const bool flat = dims.size() == 1;  // an mlp takes the pixels in a row
  for (const auto& shard : source.images) {
    const SampleForm form{.tokens = false, .dims = shard.dims};
    if (flat ? form.input_numel() == dims[0] : shard.dims == dims) continue;
    found.push_back({.at = {.file = shard.path},
                     .what = fmt::format("holds images of {}, but the model takes {}",
                                         fmt::join(shard.dims, " x "), fmt::join(dims, " x ")),
                     .help = flat ? "set the first of `model.layer_sizes`"
                                  : "set `model.image_size`, or use other data"});
    return nullptr;
  }
  return make_image_dataset(source.images, dims, needs.num_classes);
}

std::shared_ptr<const Dataset> cut(const spec::JobSpec& job, Source& source, const ModelNeeds& needs,
                                   const std::string& key, std::vector<Diagnostic>& found) {
  auto dataset = needs.tokens ? cut_tokens(source, needs, found) : cut_images(source, needs, found);
  const bool later = job.data.format == spec::DataFormat::kText &&
                     job.tokenizer.kind != spec::TokenizerKind::kBytes && source.streams.empty();
  if (dataset == nullptr && !has_error(found) && !later) {
    found.push_back({.what = fmt::format("`{}` holds no whole sample", key),
                     .help = "every file is empty or too small; the warnings say which"});
  }
  return dataset;
}

/// Moves the last share of the samples from `train` to `held_out`: rounded down, at least one.
void hold_out(double share, Datasets& sets, std::vector<Diagnostic>& found) {
  const int64_t total = sets.train->num_samples();
  const int64_t count = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(total) * share));
  if (count >= total) {
    found.push_back(
        {.what = fmt::format("`data.holdout` leaves nothing to train on: the data has {} samples", total),
         .help = "lower `data.holdout` or `data.seq_len`, or add data"});
    return;
  }
  const auto whole = sets.train;
  sets.train = make_slice(whole, 0, total - count);
  sets.held_out = make_slice(whole, total - count, count);
}

}  // namespace

ModelNeeds model_needs(const spec::JobSpec& job) {
  if (!job.model.family) throw UserError("`model.family` is not set", "set it, or name a `model.preset`");
  ModelNeeds needs;
  switch (*job.model.family) {
    case spec::ModelFamily::kGpt2:
    case spec::ModelFamily::kLlama:
      needs.seq_len =
          job.data.seq_len ? *job.data.seq_len : needed(job.model.max_seq_len, "model.max_seq_len");
      needs.vocab_size = needed(job.model.vocab_size, "model.vocab_size");
      break;
    case spec::ModelFamily::kMlp:
      needs.tokens = false;
      if (job.model.layer_sizes.size() < 2)
        throw UserError("`model.layer_sizes` needs two or more sizes", "");
      needs.dims = {job.model.layer_sizes.front()};
      needs.num_classes = job.model.layer_sizes.back();
      break;
    case spec::ModelFamily::kResnet:
      needs.tokens = false;
      if (job.model.image_size || job.data.format == spec::DataFormat::kSynthetic) {
        const int64_t size = needed(job.model.image_size, "model.image_size");
        needs.dims = {3, size, size};
      }
      needs.num_classes = needed(job.model.num_classes, "model.num_classes");
  }
  return needs;
}

Datasets open_datasets(const spec::JobSpec& job, bool tokenize, std::vector<Diagnostic>& found) {
  Datasets sets;
  const ModelNeeds needs = model_needs(job);
  if (job.data.format == spec::DataFormat::kSynthetic) {
    sets.train = synthetic(needs);
    sets.list_hash = list_hash({});
  } else if (needs.tokens != holds_tokens(job.data.format)) {
    found.push_back({.what = needs.tokens ? "the model takes tokens, but `data.format` holds images"
                                          : "the model takes features, but `data.format` holds tokens",
                     .help = "change `data.format` or `model`"});
    return sets;
  } else {
    sets.train_source = open_source(job, job.data.train, "data.train", tokenize, found);
    sets.train = cut(job, sets.train_source, needs, "data.train", found);
    std::vector<DataFile> all = sets.train_source.files;
    if (!job.data.eval.empty()) {
      sets.eval_source = open_source(job, job.data.eval, "data.eval", tokenize, found);
      sets.held_out = cut(job, sets.eval_source, needs, "data.eval", found);
      all.insert(all.end(), sets.eval_source.files.begin(), sets.eval_source.files.end());
    }
    sets.list_hash = list_hash(all);
  }
  if (job.data.holdout > 0 && job.data.eval.empty() && sets.train != nullptr)
    hold_out(job.data.holdout, sets, found);
  return sets;
}

Datasets open_datasets(const spec::JobSpec& job) {
  std::vector<Diagnostic> found;
  Datasets sets = open_datasets(job, /*tokenize=*/true, found);
  std::erase_if(found, [](const auto& d) { return d.severity != Severity::kError; });
  if (!found.empty()) throw UserError(std::move(found));
  return sets;
}

Sampler make_sampler(const spec::JobSpec& job, const Dataset& train) {
  Sampler sampler(train.num_samples(), job.train.micro_batch, static_cast<uint64_t>(job.seed),
                  job.data.shuffle, job.data.last_batch);
  if (sampler.samples_per_epoch() == 0) {
    throw UserError(fmt::format("an epoch of {} samples holds no micro-batch of {}", train.num_samples(),
                                job.train.micro_batch),
                    "lower `train.micro_batch`, set `data.last_batch: pad`, or add data");
  }
  return sampler;
}

}  // namespace trainctl::data
