// mlp.cpp: linear layers with ReLU between.  layers.N.{weight,bias}.
#include <ATen/ATen.h>

#include <deque>

#include "model/families.h"
#include "model/layers.h"

namespace trainctl::model {
namespace {

class Mlp : public SlotModel {
 public:
  explicit Mlp(const std::vector<int64_t>& sizes) {
    for (size_t n = 0; n + 1 < sizes.size(); ++n)
      layers_.emplace_back(scope() / "layers" / static_cast<int64_t>(n), sizes[n], sizes[n + 1],
                           /*with_bias=*/true);
  }

  at::Tensor forward(const at::Tensor& x_BF) override {
    at::Tensor h = x_BF;
    for (size_t n = 0; n + 1 < layers_.size(); ++n) h = at::relu(layers_[n](h));
    return layers_.back()(h);
  }

  double flops_per_sample(int64_t /*seq_len*/) const override {
    double weights = 0;
    for (const Linear& layer : layers_) weights += static_cast<double>(layer.weight.numel());
    return 6 * weights;
  }

 private:
  std::deque<Linear> layers_;
};

}  // namespace

std::unique_ptr<Model> make_mlp(const spec::ModelSpec& spec) {
  TORCH_CHECK(spec.layer_sizes.size() >= 2, "model: an mlp needs at least two layer_sizes");
  return std::make_unique<Mlp>(spec.layer_sizes);
}

}  // namespace trainctl::model
