// loss.h: the cross entropy of tokens and classes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace trainctl::train {

/// Sum of -log softmax(logits)[target] over the targets that are not `ignore_index`; 0, with gradient 0,
/// where there is none.  Computed in fp32 whatever the logits' dtype, as F.cross_entropy(logits.float())
/// does.
///
/// logits   [..., V] float32, bfloat16 or float16.  On CPUs, from 64 classes on, backward overwrites the
/// memory of
///          the first two with their gradient, which spares two buffers of their size: whatever made them
///          must not need its result again (a matmul does not)
/// target   [...] int64
/// returns  a float32 scalar on the logits' device
/// throws   c10::Error naming a target outside 0 .. V-1 (CPUs only; the data's audit comes first)
at::Tensor cross_entropy_sum(const at::Tensor& logits, const at::Tensor& target, int64_t ignore_index);

}  // namespace trainctl::train
