// parallel.h: LibTorch's own threads for loops of ours.
#pragma once

#include <cstdint>
#include <functional>

namespace trainctl::train {

/// Calls body(begin, end) on parts of 0 .. n-1 that cover it once, in up to at::get_num_threads() threads and
/// not below `grain` numbers a part.  An exception of the body is thrown here.
void parallel_for(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& body);

}  // namespace trainctl::train
