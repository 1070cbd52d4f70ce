#include "feed/batch_stream.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "data/open.h"
#include "feed/batch_builder.h"
#include "feed/prefetcher.h"

namespace trainctl::feed {

namespace {

/// The samples of one micro-batch.
struct Rows {
  std::vector<int64_t> indices;  // into the dataset; none: the stream is at its end
  int64_t first_sample = 0;
};
using Plan = std::function<Rows(int64_t number)>;  // of the stream's micro-batch `number`; a pure function

class PlannedStream : public BatchStream {
 public:
  PlannedStream(const spec::DataSpec& spec, std::shared_ptr<const data::Dataset> dataset, Plan plan,
                at::Device device)
      : device_(device),
        prefetcher_(
            [dataset = std::move(dataset), plan = std::move(plan), ignore = spec.ignore_index,
             pinned = device.is_cuda()](int64_t number) {
              const Rows rows = plan(number);
              return rows.indices.empty()
                         ? Batch{}
                         : build_batch(*dataset, rows.indices, rows.first_sample, ignore, pinned);
            },
            static_cast<int>(spec.num_workers), static_cast<int>(spec.prefetch)) {}

  Batch next() override {
    Batch batch = prefetcher_.next();
    if (device_.is_cpu() || !batch.input.defined()) return batch;
    batch.input = batch.input.to(device_, /*non_blocking=*/true);
    batch.target = batch.target.to(device_, /*non_blocking=*/true);
    return batch;
  }
  int64_t wait_ns() const override { return prefetcher_.wait_ns(); }

 private:
  at::Device device_;
  Prefetcher prefetcher_;
};

}  // namespace

std::unique_ptr<BatchStream> open_training(const spec::JobSpec& spec, int rank, int world_size,
                                           int64_t first_step, at::Device device) {
  std::shared_ptr<const data::Dataset> train = data::open_datasets(spec).train;
  const auto plan = [sampler = data::make_sampler(spec, *train), rows = spec.train.micro_batch, rank,
                     world_size, first_micro_step = first_step * spec.train.accumulate](int64_t number) {
    const int64_t first = ((first_micro_step + number) * world_size + rank) * rows;
    Rows batch{.first_sample = first};
    for (int64_t b = 0; b < rows; ++b) batch.indices.push_back(sampler.index(first + b));
    return batch;
  };
  return std::make_unique<PlannedStream>(spec.data, std::move(train), plan, device);
}

std::unique_ptr<BatchStream> open_evaluation(const spec::JobSpec& spec, int rank, int world_size,
                                             at::Device device) {
  std::shared_ptr<const data::Dataset> held_out = data::open_datasets(spec).held_out;
  if (held_out == nullptr) return nullptr;
  const int64_t limit = spec.eval.max_samples;
  const int64_t total = limit > 0 ? std::min(held_out->num_samples(), limit) : held_out->num_samples();
  const auto plan = [total, rows = spec.eval.micro_batch.value_or(spec.train.micro_batch), rank,
                     world_size](int64_t number) {
    Rows batch;
    for (int64_t i = number * rows; i < (number + 1) * rows && i * world_size + rank < total; ++i) {
      batch.indices.push_back(i * world_size + rank);
    }
    if (!batch.indices.empty()) batch.first_sample = batch.indices.front();
    return batch;
  };
  return std::make_unique<PlannedStream>(spec.data, std::move(held_out), plan, device);
}

}  // namespace trainctl::feed
