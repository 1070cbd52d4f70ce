#include <algorithm>
#include <cmath>
#include <numbers>

#include "optim/optimizer.h"

namespace trainctl::optim {

double lr_at(const spec::ScheduleSpec& schedule, double lr, int64_t total_steps, int64_t step) {
  const int64_t warmup = schedule.warmup_steps;
  if (step < warmup) return lr * static_cast<double>(step + 1) / static_cast<double>(warmup);
  const double min_lr = schedule.min_lr.value_or(lr / 10);
  // Share of the way from step `from` to the end.
  const auto progress = [&](int64_t from) {
    const double length = static_cast<double>(std::max<int64_t>(1, total_steps - from));
    return std::clamp(static_cast<double>(step - from) / length, 0.0, 1.0);
  };
  switch (schedule.kind) {
    case spec::ScheduleKind::kConstant:
      return lr;
    case spec::ScheduleKind::kLinear:
      return lr + (min_lr - lr) * progress(warmup);
    case spec::ScheduleKind::kCosine:
      return min_lr + (lr - min_lr) * 0.5 * (1 + std::cos(std::numbers::pi * progress(warmup)));
    case spec::ScheduleKind::kWsd: {
      const int64_t decay_steps = std::llround(schedule.decay_share * static_cast<double>(total_steps));
      return lr + (min_lr - lr) * progress(std::max(warmup, total_steps - decay_steps));
    }
  }
  return lr;
}

}  // namespace trainctl::optim
