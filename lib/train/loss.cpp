#include "train/loss.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>

#include <atomic>
#include <numeric>
#include <vector>

#include "train/cross_entropy_rows.h"
#include "train/parallel.h"

namespace trainctl::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// N rows (all leading dims together), V classes.
template <class Float>
LogitRows<Float> rows_of(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& top_sum_2N,
                         int64_t ignore_index) {
  float* const top = top_sum_2N.data_ptr<float>();
  return {.logits = static_cast<Float*>(logits.data_ptr()),
          .target = target.const_data_ptr<int64_t>(),
          .top = top,
          .sum = top + target.numel(),
          .num_classes = logits.size(-1),
          .ignore_index = ignore_index};
}

/// Calls run(rows) with the rows' element type: float, or bfloat16 as bits.
template <class Run>
void with_rows(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& top_sum_2N,
               int64_t ignore_index, const Run& run) {
  if (logits.scalar_type() == at::kFloat) {
    run(rows_of<float>(logits, target, top_sum_2N, ignore_index));
  } else {
    TORCH_CHECK(logits.scalar_type() == at::kBFloat16, "logits are ", logits.scalar_type(),
                ", not float or bfloat16");
    run(rows_of<uint16_t>(logits, target, top_sum_2N, ignore_index));
  }
}

/// Rows of a part that a thread takes at least: 32k logits, about 10 us.
int64_t grain_of(const at::Tensor& logits) { return std::max<int64_t>(1, 32768 / logits.size(-1)); }

class InPlaceCrossEntropy : public torch::autograd::Function<InPlaceCrossEntropy> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& logits, const at::Tensor& target,
                            int64_t ignore_index) {
    const int64_t num_rows = target.numel();
    const at::Tensor top_sum_2N = torch::empty({2, num_rows}, torch::kFloat32);
    std::vector<double> loss(static_cast<size_t>(num_rows));
    std::atomic<int64_t> bad_row = -1;
    with_rows(logits, target, top_sum_2N, ignore_index, [&](const auto& rows) {
      parallel_for(num_rows, grain_of(logits), [&](int64_t begin, int64_t end) {
        const int64_t bad = forward_rows(rows, begin, end, loss.data());
        if (bad >= 0) bad_row = bad;
      });
    });
    TORCH_CHECK(bad_row < 0, "target ", target.const_data_ptr<int64_t>()[bad_row], " is outside the ",
                logits.size(-1), " classes of the model");
    context->save_for_backward({logits, target, top_sum_2N});
    context->saved_data["ignore_index"] = ignore_index;
    // In row order, so that the number of threads does not change a bit.
    const double sum = std::accumulate(loss.begin(), loss.end(), 0.0);
    return torch::scalar_tensor(sum, torch::kFloat32);
  }

  static variable_list backward(AutogradContext* context, variable_list grad) {
    TORCH_CHECK(context->saved_data.count("done") == 0, "the logits' memory holds their gradient already");
    context->saved_data["done"] = true;
    const variable_list saved = context->get_saved_variables();
    const at::Tensor logits = saved[0].detach();
    const at::Tensor& target = saved[1];
    const float scale = grad[0].item<float>();
    with_rows(logits, target, saved[2], context->saved_data["ignore_index"].toInt(), [&](const auto& rows) {
      parallel_for(target.numel(), grain_of(logits),
                   [&](int64_t begin, int64_t end) { backward_rows(rows, begin, end, scale); });
    });
    return {logits, at::Tensor(), at::Tensor()};
  }
};

/// Below this many classes a copy of the logits costs nothing, and ATen's own kernel gives PyTorch's bits:
/// batch norm makes a large difference of any other rounding within a few steps (ResNet).
constexpr int64_t kFewClasses = 64;

}  // namespace

at::Tensor cross_entropy_sum(const at::Tensor& logits, const at::Tensor& target, int64_t ignore_index) {
  if (logits.is_cpu() && logits.is_contiguous() && logits.scalar_type() != at::kHalf &&
      logits.size(-1) >= kFewClasses) {
    return InPlaceCrossEntropy::apply(logits, target.contiguous(), ignore_index);
  }
  return at::cross_entropy_loss(logits.to(torch::kFloat32).reshape({-1, logits.size(-1)}), target.reshape(-1),
                                {}, at::Reduction::Sum, ignore_index);
}

}  // namespace trainctl::train
