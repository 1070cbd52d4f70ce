#include <catch2/catch.hpp>
#include <cmath>

#include "optim/optimizer.h"

using trainctl::optim::lr_at;
using trainctl::spec::ScheduleKind;
using trainctl::spec::ScheduleSpec;

namespace {
// Both sides compute in double; the expected values below are written in another order of operations.
Approx near(double x) { return Approx(x).epsilon(1e-14); }
}  // namespace

TEST_CASE("warm-up rises linearly to the peak and reaches it at its last step", "[optim]") {
  const ScheduleSpec spec{.kind = ScheduleKind::kConstant, .warmup_steps = 4};
  CHECK(lr_at(spec, 0.8, 100, 0) == near(0.2));
  CHECK(lr_at(spec, 0.8, 100, 3) == near(0.8));
  CHECK(lr_at(spec, 0.8, 100, 4) == 0.8);
  CHECK(lr_at(spec, 0.8, 100, 99) == 0.8);
}

TEST_CASE("the cosine falls from the peak to a tenth of it and stays there", "[optim]") {
  const ScheduleSpec spec{.kind = ScheduleKind::kCosine};
  CHECK(lr_at(spec, 1e-3, 10, 0) == near(1e-3));
  CHECK(lr_at(spec, 1e-3, 10, 5) == near(5.5e-4));
  CHECK(lr_at(spec, 1e-3, 10, 10) == near(1e-4));
  CHECK(lr_at(spec, 1e-3, 10, 1000) == near(1e-4));
}

TEST_CASE("min_lr of 0 is a value and not a default", "[optim]") {
  const ScheduleSpec spec{.kind = ScheduleKind::kLinear, .warmup_steps = 2, .min_lr = 0.0};
  CHECK(lr_at(spec, 1.0, 10, 2) == 1.0);
  CHECK(lr_at(spec, 1.0, 10, 6) == near(0.5));
  CHECK(lr_at(spec, 1.0, 10, 10) == 0.0);
}

TEST_CASE("WSD holds the peak until its last part and then falls linearly", "[optim]") {
  const ScheduleSpec spec{.kind = ScheduleKind::kWsd, .warmup_steps = 10, .min_lr = 0.1, .decay_share = 0.2};
  CHECK(lr_at(spec, 1.0, 100, 10) == 1.0);
  CHECK(lr_at(spec, 1.0, 100, 80) == 1.0);
  CHECK(lr_at(spec, 1.0, 100, 90) == near(0.55));
  CHECK(lr_at(spec, 1.0, 100, 100) == near(0.1));
}
