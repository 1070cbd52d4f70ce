// Compiled with -fopenmp: at::parallel_for is a template that runs in one thread where it is compiled
// without.
#include "train/parallel.h"

#include <ATen/Parallel.h>

#ifndef _OPENMP
#error "compile this file with OpenMP, as LibTorch was"
#endif

namespace trainctl::train {

void parallel_for(int64_t n, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
  at::parallel_for(0, n, grain, body);
}

}  // namespace trainctl::train
