#include "data/synthetic.h"

#include <fmt/format.h>

#include "data/splitmix.h"

namespace trainctl::data {

namespace {

class SyntheticTokens : public Dataset {
 public:
  SyntheticTokens(int64_t seq_len, int64_t vocab_size)
      : seq_len_(seq_len), vocab_size_(static_cast<uint64_t>(vocab_size)) {
    form_ = {.tokens = true, .dims = {seq_len}};
  }
  int64_t num_samples() const override { return ((int64_t{1} << 20) - 1) / seq_len_; }
  void read(int64_t index, const SampleRow& row) const override {
    const auto first = static_cast<uint64_t>(index * seq_len_);
    for (int64_t t = 0; t <= seq_len_; ++t) {
      const auto id = static_cast<int64_t>(splitmix64(first + static_cast<uint64_t>(t)) % vocab_size_);
      if (t < seq_len_) row.tokens[t] = id;
      if (t > 0) row.targets[t - 1] = id;
    }
  }
  std::string origin(int64_t index) const override { return fmt::format("synthetic:{}", index * seq_len_); }

 private:
  int64_t seq_len_;
  uint64_t vocab_size_;
};

class SyntheticFeatures : public Dataset {
 public:
  SyntheticFeatures(std::vector<int64_t> dims, int64_t num_classes)
      : num_classes_(static_cast<uint64_t>(num_classes)) {
    form_ = {.tokens = false, .dims = std::move(dims)};
  }
  int64_t num_samples() const override { return 512; }
  void read(int64_t index, const SampleRow& row) const override {
    const auto u = static_cast<uint64_t>(index);
    const auto k = static_cast<uint64_t>(form_.input_numel());
    for (uint64_t e = 0; e < k; ++e) {
      row.features[e] = static_cast<float>(splitmix64(u * k + e) >> 40) / 8388608.0F - 1.0F;
    }
    *row.targets = static_cast<int64_t>(splitmix64((uint64_t{1} << 40) + u) % num_classes_);
  }
  std::string origin(int64_t index) const override { return fmt::format("synthetic:{}", index); }

 private:
  uint64_t num_classes_;
};

}  // namespace

std::unique_ptr<Dataset> make_synthetic_tokens(int64_t seq_len, int64_t vocab_size) {
  return std::make_unique<SyntheticTokens>(seq_len, vocab_size);
}

std::unique_ptr<Dataset> make_synthetic_features(std::vector<int64_t> dims, int64_t num_classes) {
  return std::make_unique<SyntheticFeatures>(std::move(dims), num_classes);
}

}  // namespace trainctl::data
