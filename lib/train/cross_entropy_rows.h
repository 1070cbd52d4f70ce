// cross_entropy_rows.h: the inner loops of the cross entropy on CPUs, built for several instruction sets (the
// loader picks one).  Plain pointers, no threads, no LibTorch: loss.cpp spreads rows over threads.
#pragma once

#include <cstdint>

namespace trainctl::train {

/// N rows of V logits.  Float is float, or uint16_t for the bits of bfloat16; arithmetic is fp32 either way.
template <class Float>
struct LogitRows {
  Float* logits;          // [N, V]
  const int64_t* target;  // [N]
  float* top;             // [N] the largest logit of each row
  float* sum;  // [N] sum of exp(logit - top); kept apart from top, as their log_sum_exp would lose bits
  int64_t num_classes;  // V
  int64_t ignore_index;
};

/// Fills `top`, `sum` and loss[i] = -log softmax(logits)[target] (0 where the target is ignored) of the rows
/// begin .. end-1.  Reads the logits only.  Returns the first row whose target is outside 0 .. V-1, else -1.
int64_t forward_rows(const LogitRows<float>& rows, int64_t begin, int64_t end, double* loss);
int64_t forward_rows(const LogitRows<uint16_t>& rows, int64_t begin, int64_t end, double* loss);

/// Overwrites the logits of the rows with scale * (softmax - onehot), or with zeros where the target is
/// ignored.
void backward_rows(const LogitRows<float>& rows, int64_t begin, int64_t end, float scale);
void backward_rows(const LogitRows<uint16_t>& rows, int64_t begin, int64_t end, float scale);

}  // namespace trainctl::train
