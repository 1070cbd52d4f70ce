// prefetcher.h: threads that make batches 0, 1, 2, ... ahead of their use and hand them out in order.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "feed/batch_stream.h"

namespace trainctl::feed {

/// next() is for one thread.  The destructor lets the batches in the making finish and joins the threads.
class Prefetcher {
 public:
  using Make = std::function<Batch(int64_t number)>;  // called from any of the threads; may throw

  /// `num_threads` make up to `depth` batches ahead (at least one each); 0 threads: next() makes them itself.
  Prefetcher(Make make, int num_threads, int depth);
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;
  ~Prefetcher();

  /// The next batch in order.  Throws what its making threw, then and at every later call.
  Batch next();
  /// Time the last next() took until its batch was there, in ns.
  int64_t wait_ns() const { return wait_ns_; }

 private:
  struct Slot {
    Batch batch;
    std::exception_ptr error;
    bool ready = false;
  };
  Batch take(int64_t number);
  void work();

  Make make_;
  std::vector<Slot> slots_;  // batch n lies in slot n mod size
  std::mutex mutex_;
  std::condition_variable made_, taken_;
  int64_t num_taken_ = 0, num_started_ = 0;
  bool stopping_ = false;
  int64_t wait_ns_ = 0;
  std::vector<std::thread> threads_;  // last: started when all above is there
};

}  // namespace trainctl::feed
