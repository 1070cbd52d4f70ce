// batch_stream.h: data/ turned into tensors, ahead of the step.  Order and position come from data/sampler.h:
// the position is one global sample number, so a run continues at any number of ranks.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "spec/job_spec.h"

namespace trainctl::feed {

/// One micro-batch of this rank, on the step's device.
struct Batch {
  at::Tensor input;          // tokens [B, T] int64, or features [B, ...] float32
  at::Tensor target;         // [B, T] or [B] int64; data.ignore_index counts for nothing
  int64_t num_targets = 0;   // targets that count, known on the host
  int64_t first_sample = 0;  // global sample number of row 0; row b is first_sample + b
  std::string origin;        // "file:offset" of row 0, for messages
};

class BatchStream {
 public:
  virtual ~BatchStream() = default;
  /// The next micro-batch; waits for the prefetch threads where they are behind.  Errors of those threads are
  /// thrown here.  An evaluation stream ends with an empty `input`.
  virtual Batch next() = 0;
  /// Time that the last next() waited for data, in ns.
  virtual int64_t wait_ns() const = 0;
};

/// Micro-batch m of step s on rank r of R holds the samples ((s*A + m)*R + r)*B + b, b = 0..B-1, of the
/// sampler's order; starts at step `first_step`.
std::unique_ptr<BatchStream> open_training(const spec::JobSpec& spec, int rank, int world_size,
                                           int64_t first_step, at::Device device);

/// Every held-out sample once over all ranks (sample i on rank i mod R; the first eval.max_samples of them),
/// then empty batches; the last batch may be smaller, and ranks may differ in their number.  Row b of a batch
/// is sample first_sample + b*R.  nullptr where the job holds nothing out.
std::unique_ptr<BatchStream> open_evaluation(const spec::JobSpec& spec, int rank, int world_size,
                                             at::Device device);

}  // namespace trainctl::feed
