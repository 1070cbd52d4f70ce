#include "train/metrics.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "util/diagnostic.h"

namespace trainctl::train {
namespace {

/// A JSON number in the shortest form that reads back to the same value; JSON has none for NaN and infinity.
std::string number(std::optional<double> x) {
  return x && std::isfinite(*x) ? fmt::format("{}", *x) : "null";
}

std::string rounded(std::optional<double> x, int decimals) {
  return x && std::isfinite(*x) ? fmt::format("{:.{}f}", *x, decimals) : "null";
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// 950, 33.5k, 1.2M
std::string short_number(double x) {
  if (x >= 1e6) return fmt::format("{:.1f}M", x / 1e6);
  if (x >= 1e3) return fmt::format("{:.1f}k", x / 1e3);
  return fmt::format("{:.0f}", x);
}

}  // namespace

MetricsWriter::MetricsWriter(const std::filesystem::path& dir, std::string unit, bool tensorboard)
    : path_(dir / "metrics.jsonl"), unit_(std::move(unit)), file_(path_, std::ios::trunc) {
  if (tensorboard) events_ = std::make_unique<EventWriter>(dir / "tensorboard");
  flush();
}

void MetricsWriter::write(const StepRecord& r) {
  file_
      << fmt::format(
             R"({{"step":{},"loss":{},"grad_norm":{},"lr":{},"step_ms":{},"{}_per_s":{},"data_wait_ms":{},"rss_mb":{},)"
             R"("device_mb":{},"mfu":{},"mfu_measured":{},"skipped":{}{}}})",
             r.step, number(r.loss), number(r.grad_norm), number(r.lr), rounded(r.step_ms, 3), unit_,
             rounded(r.per_s, 1), rounded(r.data_wait_ms, 3), rounded(r.rss_mb, 1), rounded(r.device_mb, 1),
             rounded(r.mfu, 4), rounded(r.mfu_measured, 4), r.skipped,
             r.loss_scale ? fmt::format(R"(,"loss_scale":{})", number(r.loss_scale)) : "")
      << '\n';
  if (events_ == nullptr) return;
  std::vector<Scalar> scalars{{"train/loss", r.loss},     {"train/grad_norm", r.grad_norm},
                              {"train/lr", r.lr},         {"speed/step_ms", r.step_ms},
                              {"speed/per_s", r.per_s},   {"speed/data_wait_ms", r.data_wait_ms},
                              {"memory/rss_mb", r.rss_mb}};
  if (r.device_mb) scalars.emplace_back("memory/device_mb", *r.device_mb);
  if (r.loss_scale) scalars.emplace_back("train/loss_scale", *r.loss_scale);
  if (r.mfu) scalars.emplace_back("speed/mfu", *r.mfu);
  if (r.mfu_measured) scalars.emplace_back("speed/mfu_measured", *r.mfu_measured);
  events_->write(r.step, now_s(), scalars);
}

void MetricsWriter::write_evaluation(int64_t steps_done, double loss, int64_t num_samples) {
  file_ << fmt::format(R"({{"step":{},"eval_loss":{},"eval_samples":{}}})", steps_done, number(loss),
                       num_samples)
        << '\n';
  if (events_ != nullptr) events_->write(steps_done, now_s(), {{"eval/loss", loss}});
}

void MetricsWriter::flush() {
  if (!file_.flush())
    throw InfraError("cannot write " + path_.string(), "is the disk full, or the folder read-only?");
  if (events_ != nullptr) events_->flush();
}

std::string status_line(const StepRecord& r, int64_t num_steps, const std::string& unit) {
  const double wait_percent = r.step_ms > 0 ? 100 * r.data_wait_ms / r.step_ms : 0;
  return fmt::format("step {}/{}  loss {:.4f}  lr {:.1e}  step {:.1f} ms  {} {}/s  data {:.1f} %", r.step + 1,
                     num_steps, r.loss, r.lr, r.step_ms, short_number(r.per_s),
                     unit == "tokens" ? "tok" : unit, wait_percent);
}

}  // namespace trainctl::train
