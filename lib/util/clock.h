// clock.h: the clock that the launcher and its workers share.
#pragma once

#include <cstdint>
#include <ctime>

namespace trainctl {

/// CLOCK_MONOTONIC in nanoseconds: comparable between the processes of one machine.
inline int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

inline double seconds_since(int64_t ns) { return static_cast<double>(monotonic_ns() - ns) / 1e9; }

}  // namespace trainctl
