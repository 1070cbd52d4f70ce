#include "data/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "util/diagnostic.h"

namespace trainctl::data {

namespace {

/// Cumulative counts of parts, and which part a number falls into.
class Parts {
 public:
  void add(int64_t count) { ends_.push_back(total() + count); }
  int64_t total() const { return ends_.empty() ? 0 : ends_.back(); }
  std::pair<size_t, int64_t> find(int64_t index) const {  // part, number in it
    const auto part =
        static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin());
    return {part, index - (part == 0 ? 0 : ends_[part - 1])};
  }

 private:
  std::vector<int64_t> ends_;
};

class TokenDataset : public Dataset {
 public:
  TokenDataset(std::vector<TokenStream> streams, int64_t seq_len, int64_t vocab_size)
      : streams_(std::move(streams)), seq_len_(seq_len), vocab_size_(static_cast<uint64_t>(vocab_size)) {
    form_ = {.tokens = true, .dims = {seq_len}};
    for (const auto& stream : streams_) {
      parts_.add(stream.size() == 0 ? 0 : static_cast<int64_t>(stream.size() - 1) / seq_len);
    }
  }

  int64_t num_samples() const override { return parts_.total(); }

  void read(int64_t index, const SampleRow& row) const override {
    const auto [part, window] = parts_.find(index);
    const TokenStream& stream = streams_[part];
    const auto first = static_cast<uint64_t>(window * seq_len_);
    const auto count = static_cast<uint64_t>(seq_len_);
    const uint64_t largest =
        std::max(stream.read(first, count, row.tokens), stream.read(first + 1, count, row.targets));
    if (largest >= vocab_size_) fail(stream, first);
  }

  std::string origin(int64_t index) const override {
    const auto [part, window] = parts_.find(index);
    const TokenPlace place = streams_[part].place(static_cast<uint64_t>(window * seq_len_));
    return fmt::format("{}:{}", place.path, place.offset_bytes);
  }

 private:
  [[noreturn]] void fail(const TokenStream& stream, uint64_t token) const {
    int64_t id = 0;
    while (stream.read(token, 1, &id) < vocab_size_) ++token;
    const TokenPlace place = stream.place(token);
    throw UserError(
        {.at = {.file = place.path},
         .what = fmt::format("token {} at byte {} has id {}, but the model's vocabulary is {}", place.token,
                             place.offset_bytes, static_cast<uint64_t>(id), vocab_size_),
         .help = "run `trainctl data check` on the job"});
  }

  std::vector<TokenStream> streams_;
  Parts parts_;
  int64_t seq_len_;
  uint64_t vocab_size_;
};

class ImageDataset : public Dataset {
 public:
  ImageDataset(std::vector<ImageShard> shards, std::vector<int64_t> dims, int64_t num_classes)
      : shards_(std::move(shards)), num_classes_(num_classes) {
    form_ = {.tokens = false, .dims = std::move(dims)};
    for (const auto& shard : shards_) parts_.add(shard.count);
    for (int i = 0; i < 256; ++i) scaled_[i] = static_cast<float>(i) / 127.5F - 1.0F;
  }

  int64_t num_samples() const override { return parts_.total(); }

  void read(int64_t index, const SampleRow& row) const override {
    const auto [part, i] = parts_.find(index);
    const ImageShard& shard = shards_[part];
    const std::byte* const pixels = shard.pixels + i * shard.pixel_stride;
    const int64_t numel = form_.input_numel();
    for (int64_t e = 0; e < numel; ++e) row.features[e] = scaled_[static_cast<uint8_t>(pixels[e])];
    *row.targets = static_cast<int64_t>(shard.labels[i * shard.label_stride]);
    if (*row.targets >= num_classes_) {
      throw UserError({.at = {.file = shard.label_path},
                       .what = fmt::format("image {} has label {}, but the model has {} classes", i,
                                           *row.targets, num_classes_),
                       .help = "run `trainctl data check` on the job"});
    }
  }

  std::string origin(int64_t index) const override {
    const auto [part, i] = parts_.find(index);
    const ImageShard& shard = shards_[part];
    return fmt::format("{}:{}", shard.path,
                       shard.pixel_offset + static_cast<uint64_t>(i * shard.pixel_stride));
  }

 private:
  std::vector<ImageShard> shards_;
  Parts parts_;
  int64_t num_classes_;
  float scaled_[256];
};

class Slice : public Dataset {
 public:
  Slice(std::shared_ptr<const Dataset> whole, int64_t first, int64_t count)
      : whole_(std::move(whole)), first_(first), count_(count) {
    form_ = whole_->form();
  }
  int64_t num_samples() const override { return count_; }
  void read(int64_t index, const SampleRow& row) const override { whole_->read(first_ + index, row); }
  std::string origin(int64_t index) const override { return whole_->origin(first_ + index); }

 private:
  std::shared_ptr<const Dataset> whole_;
  int64_t first_, count_;
};

}  // namespace

int64_t SampleForm::input_numel() const {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

std::unique_ptr<Dataset> make_token_dataset(std::vector<TokenStream> streams, int64_t seq_len,
                                            int64_t vocab_size) {
  return std::make_unique<TokenDataset>(std::move(streams), seq_len, vocab_size);
}

std::unique_ptr<Dataset> make_image_dataset(std::vector<ImageShard> shards, std::vector<int64_t> dims,
                                            int64_t num_classes) {
  return std::make_unique<ImageDataset>(std::move(shards), std::move(dims), num_classes);
}

std::unique_ptr<Dataset> make_slice(std::shared_ptr<const Dataset> whole, int64_t first, int64_t count) {
  return std::make_unique<Slice>(std::move(whole), first, count);
}

double unigram_entropy(const Dataset& tokens, int64_t vocab_size) {
  const auto numel = static_cast<size_t>(tokens.form().input_numel());
  std::vector<int64_t> input(numel);
  std::vector<int64_t> targets(numel);
  std::vector<int64_t> counts(static_cast<size_t>(vocab_size));
  for (int64_t i = 0; i < tokens.num_samples(); ++i) {
    tokens.read(i, {.tokens = input.data(), .targets = targets.data()});
    for (const int64_t id : targets) ++counts[static_cast<size_t>(id)];
  }
  const double total = static_cast<double>(tokens.num_samples()) * static_cast<double>(numel);
  double entropy = 0;
  for (const int64_t count : counts) {
    const double p = static_cast<double>(count) / total;
    if (count > 0) entropy -= p * std::log(p);
  }
  return entropy;
}

}  // namespace trainctl::data
