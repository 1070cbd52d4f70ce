// on_ranks.h: ranks as threads of this process over a hash store, so that a test of collectives needs no
// processes.
#pragma once

#include <atomic>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <vector>

#include "dist/group.h"

namespace trainctl::test {

/// Calls `body(group)` on `n` threads, each a rank of one gloo group, and waits.  Rethrows the exception of
/// the lowest rank that threw.  Catch2's assertions are not thread-safe: collect results in `body`, check
/// them after.
inline void on_ranks(int n, const std::function<void(dist::Group&)>& body,
                     std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
  // c10d's flight recorder is one for all groups of a process and takes no lock over its map of groups: two
  // ranks that are threads tear it.  A worker is one rank, so only such tests meet this.
  ::setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/1);
  static std::atomic<int> calls{0};
  const int call = calls++;
  const auto store = c10::make_intrusive<c10d::HashStore>();
  std::vector<std::exception_ptr> errors(n);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < n; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const auto backend = device::make_backend("cpu", rank, /*num_threads=*/1);
        const auto name = "call-" + std::to_string(call) + "-rank-" + std::to_string(rank);
        const auto group = dist::make_group(store, rank, n, *backend, timeout, name);
        body(*group);
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace trainctl::test
