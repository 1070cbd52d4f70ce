// resnet.cpp: ResNet-18 and -50 (He et al. 2016) with torchvision's names.  ResNet-50 strides in the 3x3
// convolution of its bottleneck ("v1.5"), as torchvision does.  The CIFAR stem is one 3x3 convolution without
// pooling.
//
// B batch, C channels, Y and X pixels.
#include <ATen/ATen.h>

#include <deque>
#include <memory>
#include <optional>

#include "model/families.h"
#include "model/layers.h"

namespace trainctl::model {
namespace {

/// Multiplications that a convolution makes on an image of `size` x `size`; `size` becomes that of its
/// output.
double multiplications(const Conv2d& conv, int64_t& size) {
  size = (size + 2 * conv.padding - conv.weight.size(2)) / conv.stride + 1;
  return static_cast<double>(conv.weight.numel() * size * size);
}

/// The 1x1 convolution that fits the shortcut to a block's output.
struct Downsample : Layer {
  Conv2d conv;
  BatchNorm2d norm;
  Downsample(const Scope& scope, int64_t in, int64_t out, int64_t stride)
      : conv(scope / 0, in, out, 1, stride, 0), norm(scope / 1, out) {}
};

struct ResidualBlock : Layer {
  virtual ~ResidualBlock() = default;
  virtual at::Tensor operator()(const at::Tensor& x_BCYX, bool training) = 0;
  virtual double forward_multiplications(int64_t& size) const = 0;

 protected:
  at::Tensor shortcut(const at::Tensor& x_BCYX, bool training) {
    return downsample ? downsample->norm(downsample->conv(x_BCYX), training) : x_BCYX;
  }
  double shortcut_multiplications(int64_t size) const {
    return downsample ? multiplications(downsample->conv, size) : 0;
  }
  std::optional<Downsample> downsample;
};

struct BasicBlock : ResidualBlock {
  static constexpr int64_t kExpansion = 1;
  Conv2d conv1;
  BatchNorm2d bn1;
  Conv2d conv2;
  BatchNorm2d bn2;

  BasicBlock(const Scope& scope, int64_t in, int64_t width, int64_t stride)
      : conv1(scope / "conv1", in, width, 3, stride, 1),
        bn1(scope / "bn1", width),
        conv2(scope / "conv2", width, width, 3, 1, 1),
        bn2(scope / "bn2", width) {
    if (stride != 1 || in != width) downsample.emplace(scope / "downsample", in, width, stride);
  }

  at::Tensor operator()(const at::Tensor& x_BCYX, bool training) override {
    const at::Tensor h_BCYX = at::relu(bn1(conv1(x_BCYX), training));
    const at::Tensor y_BCYX = bn2(conv2(h_BCYX), training);
    return at::relu(y_BCYX + shortcut(x_BCYX, training));
  }

  double forward_multiplications(int64_t& size) const override {
    const double beside = shortcut_multiplications(size), first = multiplications(conv1, size);
    return beside + first + multiplications(conv2, size);
  }
};

struct Bottleneck : ResidualBlock {
  static constexpr int64_t kExpansion = 4;
  Conv2d conv1;
  BatchNorm2d bn1;
  Conv2d conv2;
  BatchNorm2d bn2;
  Conv2d conv3;
  BatchNorm2d bn3;

  Bottleneck(const Scope& scope, int64_t in, int64_t width, int64_t stride)
      : conv1(scope / "conv1", in, width, 1, 1, 0),
        bn1(scope / "bn1", width),
        conv2(scope / "conv2", width, width, 3, stride, 1),
        bn2(scope / "bn2", width),
        conv3(scope / "conv3", width, kExpansion * width, 1, 1, 0),
        bn3(scope / "bn3", kExpansion * width) {
    if (stride != 1 || in != kExpansion * width)
      downsample.emplace(scope / "downsample", in, kExpansion * width, stride);
  }

  at::Tensor operator()(const at::Tensor& x_BCYX, bool training) override {
    const at::Tensor h_BCYX = at::relu(bn1(conv1(x_BCYX), training));
    const at::Tensor g_BCYX = at::relu(bn2(conv2(h_BCYX), training));
    const at::Tensor y_BCYX = bn3(conv3(g_BCYX), training);
    return at::relu(y_BCYX + shortcut(x_BCYX, training));
  }

  double forward_multiplications(int64_t& size) const override {
    const double beside = shortcut_multiplications(size), first = multiplications(conv1, size);
    const double second = multiplications(conv2, size);
    return beside + first + second + multiplications(conv3, size);
  }
};

struct ResNetSizes {
  std::vector<int64_t> blocks;  // in each of the four stages
  int64_t classes, image;
  bool cifar_stem;
};

template <class BlockKind>
class Resnet : public SlotModel {
 public:
  explicit Resnet(const ResNetSizes& s)
      : sizes_(s),
        conv1_(scope() / "conv1", 3, 64, s.cifar_stem ? 3 : 7, s.cifar_stem ? 1 : 2, s.cifar_stem ? 1 : 3),
        bn1_(scope() / "bn1", 64) {
    int64_t in = 64, width = 64;
    for (size_t stage = 0; stage < s.blocks.size(); ++stage, width *= 2)
      for (int64_t n = 0; n < s.blocks[stage]; ++n) {
        const int64_t stride = stage > 0 && n == 0 ? 2 : 1;
        blocks_.emplace_back(scope() / ("layer" + std::to_string(stage + 1)) / n, in, width, stride);
        in = BlockKind::kExpansion * width;
      }
    fc_.emplace(scope() / "fc", in, s.classes, /*with_bias=*/true);
  }

  at::Tensor forward(const at::Tensor& image_BCYX) override {
    at::Tensor x_BCYX = at::relu(bn1_(conv1_(image_BCYX), training()));
    if (!sizes_.cifar_stem) x_BCYX = at::max_pool2d(x_BCYX, {3, 3}, {2, 2}, {1, 1});
    for (BlockKind& block : blocks_) x_BCYX = block(x_BCYX, training());
    return (*fc_)(x_BCYX.mean({2, 3}));
  }

  double flops_per_sample(int64_t /*seq_len*/) const override {
    int64_t size = sizes_.image;
    double sum = multiplications(conv1_, size);
    if (!sizes_.cifar_stem) size = (size + 2 - 3) / 2 + 1;
    for (const BlockKind& block : blocks_) sum += block.forward_multiplications(size);
    return 6 * (sum + static_cast<double>(fc_->weight.numel()));
  }

 private:
  ResNetSizes sizes_;
  Conv2d conv1_;
  BatchNorm2d bn1_;
  std::deque<BlockKind> blocks_;
  std::optional<Linear> fc_;
};

}  // namespace

std::unique_ptr<Model> make_resnet(const spec::ModelSpec& spec) {
  const int64_t depth = spec.depth.value();
  TORCH_CHECK(depth == 18 || depth == 50, "model.depth is ", depth, ", known are 18 and 50");
  const bool cifar_stem = spec.cifar_stem.value_or(false);
  ResNetSizes sizes{.classes = spec.num_classes.value(),
                    .image = spec.image_size.value_or(cifar_stem ? 32 : 224),
                    .cifar_stem = cifar_stem};
  if (depth == 18) {
    sizes.blocks = {2, 2, 2, 2};
    return std::make_unique<Resnet<BasicBlock>>(sizes);
  }
  sizes.blocks = {3, 4, 6, 3};
  return std::make_unique<Resnet<Bottleneck>>(sizes);
}

}  // namespace trainctl::model
