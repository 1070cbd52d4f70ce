// generate.h: text from a trained model.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/model.h"

namespace trainctl::train {

struct Sampling {
  int64_t num_tokens = 200;
  double temperature = 0.8;  // 0: the most likely token
  int64_t top_k = 50;        // of the most likely tokens; 0: of all
  int64_t seed = 0;
};

/// Appends sampling.num_tokens ids to `ids` (at least one), each given to `sink` as it comes.  The model sees
/// the last `max_seq_len` ids; without a cache of keys and values, so a token costs a forward pass over them.
void sample(model::Model& model, std::vector<int64_t>& ids, int64_t max_seq_len, const Sampling& sampling,
            const std::function<void(int64_t)>& sink);

}  // namespace trainctl::train
