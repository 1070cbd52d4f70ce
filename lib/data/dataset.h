// dataset.h: samples by number, whatever holds them.  Values only: no order (sampler.h), no tensors
// (lib/feed).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/image_shard.h"
#include "data/token_stream.h"

namespace trainctl::data {

/// What a sample is.  Tokens: input [T] and target [T] ids.  Else: features, float32, of `dims` ([C, H, W],
/// or [k] for an mlp), and one label.
struct SampleForm {
  bool tokens = true;
  std::vector<int64_t> dims;  // of the input
  int64_t input_numel() const;
  int64_t target_numel() const { return tokens ? input_numel() : 1; }
};

/// Where one sample goes: `tokens` or `features` (input_numel values), and `targets` (target_numel values).
struct SampleRow {
  int64_t* tokens = nullptr;
  float* features = nullptr;
  int64_t* targets = nullptr;
};

/// Immutable; read() is safe from any thread.
class Dataset {
 public:
  virtual ~Dataset() = default;
  const SampleForm& form() const { return form_; }
  virtual int64_t num_samples() const = 0;
  /// Writes sample `index` < num_samples().  Throws UserError with file, offset and id where a token or label
  /// is out of the model's range: no such value ever reaches a device.
  virtual void read(int64_t index, const SampleRow& row) const = 0;
  /// "file:offset" of the sample's first byte.
  virtual std::string origin(int64_t index) const = 0;

 protected:
  SampleForm form_;
};

/// Windows of T tokens of every stream, in order: window w of a stream is x = tok[w*T, w*T + T) and
/// y = tok[w*T + 1, w*T + T + 1), w < (n - 1) / T.  No window spans two streams.
std::unique_ptr<Dataset> make_token_dataset(std::vector<TokenStream> streams, int64_t seq_len,
                                            int64_t vocab_size);

/// The rows of all shards, in order.  Pixels become x / 127.5 - 1, in [-1, 1].
std::unique_ptr<Dataset> make_image_dataset(std::vector<ImageShard> shards, std::vector<int64_t> dims,
                                            int64_t num_classes);

/// Samples [first, first + count) of `whole`.
std::unique_ptr<Dataset> make_slice(std::shared_ptr<const Dataset> whole, int64_t first, int64_t count);

/// Entropy in nats of the targets of all samples under their own frequencies: the loss of a model that knows
/// nothing but how often each token occurs.  Reads every sample once.
double unigram_entropy(const Dataset& tokens, int64_t vocab_size);

}  // namespace trainctl::data
