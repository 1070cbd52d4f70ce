// evaluate.h: the loss on the held-out part of the data.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "dist/data_parallel.h"
#include "model/model.h"
#include "spec/job_spec.h"

namespace trainctl::train {

struct Evaluation {
  double loss = 0;  // mean over all targets that count
  int64_t num_samples = 0;
};

/// Is there a held-out part?
bool has_held_out(const spec::JobSpec& spec);

/// Every held-out sample once over all ranks (eval.max_samples at most), without gradients or dropout.
/// Collective; all ranks get the same numbers.  Leaves the model in training mode, with rank 0's buffers on
/// all ranks: batch norm's running statistics differ between ranks while training.
Evaluation evaluate(const spec::JobSpec& spec, model::Model& model, dist::Group& group, at::Device device);

}  // namespace trainctl::train
