// batch_builder.h: samples of a dataset, copied once, from the mapped file into the rows of a batch on the
// host.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/dataset.h"
#include "feed/batch_stream.h"

namespace trainctl::feed {

/// The samples dataset[indices[b]] as a batch on the CPU.  pinned: in page-locked memory, so that the copy to
/// a GPU overlaps with its work; needs CUDA.  `first_sample` is passed on.
Batch build_batch(const data::Dataset& dataset, const std::vector<int64_t>& indices, int64_t first_sample,
                  int64_t ignore_index, bool pinned);

}  // namespace trainctl::feed
