#include "data/sampler.h"

#include <bit>

#include "data/splitmix.h"

namespace trainctl::data {

Permutation::Permutation(uint64_t n, uint64_t key) : n_(n) {
  const int bits = std::bit_width(n - 1);
  low_bits_ = (bits + 1) / 2;
  low_mask_ = (uint64_t{1} << low_bits_) - 1;
  high_mask_ = (uint64_t{1} << (bits - low_bits_)) - 1;
  for (auto& k : keys_) k = key = splitmix64(key);
}

uint64_t Permutation::operator()(uint64_t x) const {
  do {
    uint64_t low = x & low_mask_;
    uint64_t high = x >> low_bits_;
    for (int round = 0; round < 8; round += 2) {
      low ^= splitmix64(high ^ keys_[round]) & low_mask_;
      high ^= splitmix64(low ^ keys_[round + 1]) & high_mask_;
    }
    x = high << low_bits_ | low;
  } while (x >= n_);
  return x;
}

Sampler::Sampler(int64_t num_samples, int64_t micro_batch, uint64_t seed, bool shuffle,
                 spec::LastBatch last_batch)
    : num_samples_(num_samples), per_epoch_(num_samples), seed_(seed), shuffle_(shuffle) {
  if (!shuffle) return;
  const int64_t rest = num_samples % micro_batch;
  if (rest == 0) return;
  per_epoch_ += last_batch == spec::LastBatch::kDrop ? -rest : micro_batch - rest;
}

int64_t Sampler::index(int64_t i) const {
  if (!shuffle_) return i % num_samples_;
  const auto epoch = static_cast<uint64_t>(i / per_epoch_);
  const Permutation permutation(static_cast<uint64_t>(num_samples_), splitmix64(seed_) ^ splitmix64(~epoch));
  return static_cast<int64_t>(permutation(static_cast<uint64_t>(i % per_epoch_ % num_samples_)));
}

}  // namespace trainctl::data
