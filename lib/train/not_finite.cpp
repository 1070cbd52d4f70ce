#include "train/not_finite.h"

#include <fmt/format.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>

namespace trainctl::train {
namespace {

constexpr int64_t kTextBytes = 4096;

std::string gradients_text(const StepStats& stats, const std::vector<optim::Parameter>& parameters) {
  const at::Tensor bad = stats.gradient_norm.each.isfinite().logical_not().nonzero().flatten().cpu();
  if (bad.numel() == 0) return "every gradient is finite";
  return fmt::format("the gradient of `{}` is the first of {} that are not finite ({} parameters in all)",
                     parameters.at(static_cast<size_t>(bad[0].item<int64_t>())).name, bad.numel(),
                     parameters.size());
}

/// `samples 12 to 15 (text.bin:4096)`, one part a micro-batch.
std::string batches_text(const StepStats& stats) {
  std::vector<std::string> parts;
  for (const BatchOrigin& batch : stats.batches) {
    parts.push_back(fmt::format("samples {} to {} ({})", batch.first_sample,
                                batch.first_sample + batch.num_samples - 1, batch.origin));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

constexpr const char* kUseBf16 =
    "set precision.compute to bf16, whose range is float32's (fp16's ends at 65504)";

}  // namespace

bool is_overflow(const StepRecord& skipped) {
  return skipped.loss_scale.has_value() && std::isfinite(skipped.loss);
}

std::string overflow_line(const StepRecord& skipped) {
  return fmt::format(
      "overflow: a gradient of step {} does not fit into fp16; skipped on all ranks, loss scale {:g} -> {:g}",
      skipped.step, *skipped.loss_scale, *skipped.loss_scale / 2);
}

std::string stop_help(const StepRecord& skipped) {
  const std::string help =
      "look at these samples; lower optimizer.lr or raise schedule.warmup_steps, or set "
      "optimizer.on_nonfinite to skip";
  return skipped.loss_scale ? fmt::format("{}; {}", kUseBf16, help) : help;
}

std::string skip_help(const StepRecord& skipped) {
  if (is_overflow(skipped)) {
    return fmt::format("gradients do not fit into fp16, even at loss scale {:g}: {}", *skipped.loss_scale,
                       kUseBf16);
  }
  return "the model has diverged: lower optimizer.lr, or start again from earlier weights";
}

std::vector<std::string> gather_texts(const std::string& text, dist::Group& group, at::Device device) {
  at::Tensor mine = torch::zeros({kTextBytes}, torch::kUInt8);
  std::copy_n(text.begin(), std::min<size_t>(text.size(), kTextBytes), mine.data_ptr<uint8_t>());
  std::vector<std::string> texts;
  for (const at::Tensor& theirs : group.all_gather(mine.to(device))) {
    const at::Tensor host = theirs.cpu();
    const auto* const bytes = reinterpret_cast<const char*>(host.const_data_ptr<uint8_t>());
    texts.emplace_back(bytes, strnlen(bytes, kTextBytes));
  }
  return texts;
}

std::string describe_not_finite(const StepStats& stats, const std::vector<optim::Parameter>& parameters,
                                dist::Group& group, at::Device device) {
  const double loss = stats.local_loss.item<double>();
  const std::string mine = fmt::format("{}rank {}: loss sum {}, {}", std::isfinite(loss) ? "" : "!",
                                       group.rank(), loss, batches_text(stats));
  std::vector<std::string> ranks = gather_texts(mine, group, device);
  const auto is_bad = [](const std::string& text) { return text.starts_with('!'); };
  if (std::any_of(ranks.begin(), ranks.end(), is_bad)) {
    std::erase_if(ranks, [&](const std::string& text) { return !is_bad(text); });
    for (std::string& text : ranks) text.erase(0, 1);
  }
  return fmt::format("step {} is not finite: {}; {}", stats.step, gradients_text(stats, parameters),
                     fmt::join(ranks, "; "));
}

}  // namespace trainctl::train
