#include "device/peak.h"

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>
#include <torch/version.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "device/peak_cache.h"

namespace trainctl::device {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Seconds for `repeats` products of n x n matrices.  FP32 products accumulate in FP32, BF16 ones as the
/// library does.
double time_matmuls(Backend& backend, at::Tensor& out, const at::Tensor& a, const at::Tensor& b,
                    int repeats) {
  backend.synchronize();
  const auto start = Clock::now();
  for (int i = 0; i < repeats; ++i) at::mm_out(out, a, b);
  backend.synchronize();
  return seconds_since(start);
}

/// Cores that this process got since construction, on average.
class CoresUsed {
 public:
  double average() const { return (cpu_s() - cpu_start_s_) / seconds_since(start_); }

 private:
  static double cpu_s() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  }
  Clock::time_point start_ = Clock::now();
  double cpu_start_s_ = cpu_s();
};

class ThreadsGuard {
 public:
  explicit ThreadsGuard(int num_threads) : before_(at::get_num_threads()) { set(num_threads); }
  ~ThreadsGuard() { set(before_); }
  ThreadsGuard(const ThreadsGuard&) = delete;
  ThreadsGuard& operator=(const ThreadsGuard&) = delete;

 private:
  static void set(int n) {
    if (at::get_num_threads() != n) at::set_num_threads(n);
  }
  int before_;
};

}  // namespace

double measure_matmul_tflops(Backend& backend, at::ScalarType dtype) {
  constexpr double kBudgetS = 0.05;  // per size
  constexpr double kRoundS = 0.005;  // long against the clock and the launch of a kernel
  const c10::InferenceMode no_autograd;
  const bool cpu = backend.device().is_cpu();
  const int64_t smallest = cpu ? 256 : 2048;
  const auto options = at::TensorOptions(backend.device()).dtype(at::kFloat);
  double best_tflops = 0;
  for (int64_t n = smallest; n <= 8 * smallest; n *= 2) {
    const double tflop = 2e-12 * std::pow(static_cast<double>(n), 3);
    // A size that could not run three times in its budget says no more than the smaller ones did.
    if (best_tflops > 0 && 3 * tflop / best_tflops > 2 * kBudgetS) break;
    // Values that vary: a GPU draws less power, and so runs faster, on zeros.  No random numbers, so that
    // training sees the same ones whether the peak was measured or known.
    const at::Tensor a = at::arange(n * n, options).sin().view({n, n}).to(dtype);
    const at::Tensor b = a.flip({0});
    at::Tensor out = at::empty({n, n}, a.options());
    time_matmuls(backend, out, a, b, 1);  // first use: the library picks and packs its kernel
    const double once_s = time_matmuls(backend, out, a, b, 1);
    const int repeats = std::max(1, static_cast<int>(std::ceil(kRoundS / once_s)));
    const auto start = Clock::now();
    do {
      best_tflops = std::max(best_tflops, repeats * tflop / time_matmuls(backend, out, a, b, repeats));
    } while (seconds_since(start) < kBudgetS);
  }
  return best_tflops;
}

double matmul_peak_tflops(Backend& backend, at::ScalarType dtype, int num_threads) {
  const auto key = fmt::format("{} | {} | {} threads | LibTorch {}", backend.description(),
                               c10::toString(dtype), num_threads, TORCH_VERSION);
  return cached_peak(default_peak_cache(), key, [&]() -> Measurement {
    const ThreadsGuard threads(num_threads);
    const CoresUsed cores;
    const double tflops = measure_matmul_tflops(backend, dtype);
    // Other programs took the cores: the true peak is higher, and a low one would flatter every later run.
    const double share = cores.average() / num_threads;
    if (!backend.device().is_cpu() || share > 0.9) return Measurement(tflops);
    return Measurement(
        tflops, fmt::format("other programs kept this one from {:.0f} % of its cores while it measured",
                            100 * (1 - share)));
  });
}

}  // namespace trainctl::device
