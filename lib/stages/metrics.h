// metrics.h: reads what a trial wrote about each step (metrics.jsonl).
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace trainctl::stages {

struct StepMetrics {
  int64_t step = 0;
  double loss = 0, grad_norm = 0;  // NaN where it was not finite
  bool skipped = false;
};

/// The steps in order; lines of other kinds (evaluations) are left out.  An unfinished last line, as a killed
/// worker leaves it, is left out too.  Throws InfraError for a broken line elsewhere.
std::vector<StepMetrics> read_metrics(const std::filesystem::path& file);

}  // namespace trainctl::stages
