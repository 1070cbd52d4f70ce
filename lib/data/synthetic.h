// synthetic.h: data made up from a counter, the same everywhere; nothing is read or kept.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/dataset.h"

namespace trainctl::data {

/// tok[j] = splitmix64(j) mod V, j < 2^20; the windows of make_token_dataset: (2^20 - 1) / T samples.
std::unique_ptr<Dataset> make_synthetic_tokens(int64_t seq_len, int64_t vocab_size);

/// 512 samples.  Value e of sample u is f(splitmix64(u*k + e)), k the values of a sample in order of dims,
/// f(h) = (h >> 40) / 2^23 - 1, in [-1, 1); the label is splitmix64(2^40 + u) mod num_classes.
std::unique_ptr<Dataset> make_synthetic_features(std::vector<int64_t> dims, int64_t num_classes);

}  // namespace trainctl::data
