#include "feed/batch_builder.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace trainctl::feed {

Batch build_batch(const data::Dataset& dataset, const std::vector<int64_t>& indices, int64_t first_sample,
                  int64_t ignore_index, bool pinned) {
  const data::SampleForm& form = dataset.form();
  const auto rows = static_cast<int64_t>(indices.size());
  std::vector<int64_t> shape = form.dims;
  shape.insert(shape.begin(), rows);
  const auto options = at::TensorOptions().pinned_memory(pinned);
  Batch batch;
  batch.input = at::empty(shape, options.dtype(form.tokens ? at::kLong : at::kFloat));
  batch.target =
      form.tokens ? at::empty(shape, options.dtype(at::kLong)) : at::empty({rows}, options.dtype(at::kLong));
  batch.first_sample = first_sample;
  batch.origin = dataset.origin(indices.front());
  int64_t* const tokens = form.tokens ? batch.input.mutable_data_ptr<int64_t>() : nullptr;
  float* const features = form.tokens ? nullptr : batch.input.mutable_data_ptr<float>();
  int64_t* const targets = batch.target.mutable_data_ptr<int64_t>();
  for (int64_t b = 0; b < rows; ++b) {
    const int64_t at = b * form.input_numel();
    dataset.read(indices[static_cast<size_t>(b)], {.tokens = tokens == nullptr ? nullptr : tokens + at,
                                                   .features = features == nullptr ? nullptr : features + at,
                                                   .targets = targets + b * form.target_numel()});
  }
  const int64_t num_targets = rows * form.target_numel();
  batch.num_targets = num_targets - std::count(targets, targets + num_targets, ignore_index);
  return batch;
}

}  // namespace trainctl::feed
