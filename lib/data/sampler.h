// sampler.h: the order of the samples, as a pure function of one global sample number.
//
// Sample number i = 0, 1, 2, ... counts what all ranks together consume; a run's position is one such number,
// so a run continues at any number of ranks, workers and micro-steps.  Epoch e holds the numbers [e*N',
// (e+1)*N').
//   shuffle   index = P_e(i mod N'), P_e a permutation of all N samples that depends on (seed, e) only.
//   else      index = i mod N: the samples in the order of the data, wrapping around; N' = N.
// N' for shuffled data, B = train.micro_batch:
//   drop      N rounded down to a multiple of B: every micro-batch holds samples of one epoch, none twice in
//   an
//             epoch; fewer than B samples of an epoch are left out, others each time.
//   pad       N rounded up to a multiple of B: every sample at least once an epoch; the last micro-batch is
//   filled
//             with the epoch's first samples.
// N' depends on B alone, not on the number of ranks or of micro-steps, so the list of samples does not
// either; one step may hold micro-batches of two epochs.
#pragma once

#include <cstdint>

#include "spec/job_spec.h"

namespace trainctl::data {

/// A bijection of [0, n), chosen by `key`: a Feistel network over the next power of two, walked until it
/// falls below n (under two walks on average).  O(1) memory, so an epoch of 10^12 samples costs nothing to
/// shuffle.
class Permutation {
 public:
  Permutation(uint64_t n, uint64_t key);  // n >= 1
  uint64_t operator()(uint64_t x) const;  // x < n

 private:
  uint64_t n_;
  int low_bits_;
  uint64_t low_mask_, high_mask_;
  uint64_t keys_[8];
};

class Sampler {
 public:
  /// num_samples N, micro_batch B; both at least 1.
  Sampler(int64_t num_samples, int64_t micro_batch, uint64_t seed, bool shuffle, spec::LastBatch last_batch);
  /// N'; 0 where `drop` leaves nothing (N < B).
  int64_t samples_per_epoch() const { return per_epoch_; }
  int64_t epoch(int64_t i) const { return i / per_epoch_; }
  /// Index into the dataset of global sample number i >= 0.  O(1).
  int64_t index(int64_t i) const;

 private:
  int64_t num_samples_, per_epoch_;
  uint64_t seed_;
  bool shuffle_;
};

}  // namespace trainctl::data
