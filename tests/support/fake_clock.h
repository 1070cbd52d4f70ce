// fake_clock.h: time that moves only when a test says so.
#pragma once

#include <cstdint>
#include <functional>

namespace trainctl::test {

class FakeClock {
 public:
  std::function<int64_t()> now_ns() {
    return [this] { return now_ns_; };
  }
  void advance_s(double seconds) { now_ns_ += static_cast<int64_t>(seconds * 1e9); }

 private:
  int64_t now_ns_ = 1'000'000'000;
};

}  // namespace trainctl::test
