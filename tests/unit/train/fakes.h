// fakes.h: the smallest model and batches that a train step can run on.
#pragma once

#include <torch/types.h>

#include <deque>

#include "feed/batch_stream.h"
#include "model/model.h"

namespace trainctl::test {

/// logits = table[token]: a bigram model of V tokens.  With `dropout`, of the logits.
class Bigram : public model::Model {
 public:
  explicit Bigram(int64_t vocab, double dropout = 0) : dropout_(dropout) {
    const auto options = torch::kFloat32;
    // Fixed numbers that are all different, so that no two gradients agree by accident.
    table_VV_ =
        (torch::arange(vocab * vocab, options) * 0.37).sin().reshape({vocab, vocab}).requires_grad_(true);
    bias_V_ = torch::zeros({vocab}, options).requires_grad_(true);
  }
  at::Tensor forward(const at::Tensor& input) override {
    const at::Tensor logits = at::embedding(table_VV_, input) + bias_V_;
    return dropout_ > 0 ? at::dropout(logits, dropout_, training_) : logits;
  }
  std::vector<model::NamedTensor> parameters() override { return {{"table", table_VV_}, {"bias", bias_V_}}; }
  std::vector<model::NamedTensor> buffers() override { return {}; }
  void train(bool on) override { training_ = on; }
  void set_tensors(const std::vector<at::Tensor>&, const std::vector<at::Tensor>&) override {}
  double flops_per_sample(int64_t) const override { return 0; }

 private:
  double dropout_;
  bool training_ = true;
  at::Tensor table_VV_, bias_V_;
};

/// Hands out the batches it was given.
class ListedBatches : public feed::BatchStream {
 public:
  explicit ListedBatches(std::deque<feed::Batch> batches) : batches_(std::move(batches)) {}
  feed::Batch next() override {
    feed::Batch batch = batches_.front();
    batches_.pop_front();
    return batch;
  }
  int64_t wait_ns() const override { return 1000; }

 private:
  std::deque<feed::Batch> batches_;
};

/// One row of T tokens; targets equal to `ignored` do not count.
inline feed::Batch batch_of(const std::vector<int64_t>& tokens, const std::vector<int64_t>& targets,
                            int64_t ignored, int64_t first_sample = 0) {
  feed::Batch batch{.first_sample = first_sample, .origin = "file.bin:" + std::to_string(128 * first_sample)};
  batch.input = torch::tensor(tokens).unsqueeze(0);
  batch.target = torch::tensor(targets).unsqueeze(0);
  for (const int64_t target : targets) batch.num_targets += target != ignored ? 1 : 0;
  return batch;
}

}  // namespace trainctl::test
