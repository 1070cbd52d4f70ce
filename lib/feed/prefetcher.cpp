#include "feed/prefetcher.h"

#include <algorithm>
#include <chrono>

namespace trainctl::feed {

Prefetcher::Prefetcher(Make make, int num_threads, int depth)
    : make_(std::move(make)), slots_(static_cast<size_t>(std::max({depth, num_threads, 1}))) {
  for (int i = 0; i < num_threads; ++i) threads_.emplace_back([this] { work(); });
}

Prefetcher::~Prefetcher() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  taken_.notify_all();
  for (auto& thread : threads_) thread.join();
}

Batch Prefetcher::next() {
  const auto start = std::chrono::steady_clock::now();
  const int64_t number = num_taken_;
  Batch batch = threads_.empty() ? make_(number) : take(number);
  if (threads_.empty()) ++num_taken_;
  wait_ns_ = std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
  return batch;
}

Batch Prefetcher::take(int64_t number) {
  Batch batch;
  {
    std::unique_lock lock(mutex_);
    Slot& slot = slots_[static_cast<size_t>(number) % slots_.size()];
    made_.wait(lock, [&] { return slot.ready; });
    if (slot.error) std::rethrow_exception(slot.error);  // the slot stays: the stream is over
    batch = std::move(slot.batch);
    slot = {};
    ++num_taken_;
  }
  taken_.notify_one();
  return batch;
}

void Prefetcher::work() {
  const auto size = static_cast<int64_t>(slots_.size());
  std::unique_lock lock(mutex_);
  while (true) {
    taken_.wait(lock, [&] { return stopping_ || num_started_ < num_taken_ + size; });
    if (stopping_) return;
    const int64_t number = num_started_++;
    lock.unlock();
    Slot made{.ready = true};
    try {
      made.batch = make_(number);
    } catch (...) {
      made.error = std::current_exception();
    }
    lock.lock();
    slots_[static_cast<size_t>(number % size)] = std::move(made);
    made_.notify_one();
  }
}

}  // namespace trainctl::feed
