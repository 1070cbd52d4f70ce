#include "train/step_log.h"

#include <torch/types.h>

#include <algorithm>
#include <numeric>

#include "train/process_memory.h"

namespace trainctl::train {
namespace {

double ms_between(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

std::optional<double> share_of(double tflops, std::optional<double> peak) {
  if (!peak || *peak <= 0) return std::nullopt;
  return tflops / *peak;
}

/// The p-th part of sorted numbers, by linear interpolation between neighbours.
double quantile(const std::vector<double>& sorted, double p) {
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<size_t>(at);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

}  // namespace

StepLog::StepLog(device::Backend& backend, const Rates& rates) : backend_(backend), rates_(rates) {}

void StepLog::start_step() {
  if (pending_.empty()) group_start_ = Clock::now();
}

std::vector<StepRecord> StepLog::read() {
  if (pending_.empty()) return {};
  std::vector<at::Tensor> numbers;  // one copy for all: totals, norm and flag of each step
  for (const StepStats& s : pending_) {
    numbers.push_back(torch::cat({s.totals, s.gradient_norm.total.to(torch::kFloat64).reshape({1}),
                                  s.not_finite.to(torch::kFloat64).reshape({1})}));
    if (s.loss_scale.defined()) {
      numbers.back() = torch::cat({numbers.back(), s.loss_scale.to(torch::kFloat64).reshape({1})});
    }
  }
  const at::Tensor host = torch::stack(numbers).cpu();
  const auto row = host.accessor<double, 2>();
  const double group_ms = ms_between(group_start_, Clock::now());

  std::vector<StepRecord> records;
  for (size_t i = 0; i < pending_.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    StepRecord r{.step = pending_[i].step, .lr = pending_[i].lr};
    r.loss = row[at][kLossSum] / std::max(1.0, row[at][kNumTargets]);
    r.grad_norm = row[at][kNumTotals];
    r.skipped = row[at][kNumTotals + 1] != 0;
    if (pending_[i].loss_scale.defined()) r.loss_scale = row[at][kNumTotals + 2];
    r.step_ms = group_ms / static_cast<double>(pending_.size());
    r.data_wait_ms = static_cast<double>(pending_[i].data_wait_ns) / 1e6;
    r.per_s = rates_.units_per_step / (r.step_ms / 1e3);
    r.rss_mb = rss_mb();
    r.device_mb = backend_.peak_memory_mb();
    const double tflops = rates_.flops_per_step / (r.step_ms / 1e3) / 1e12;
    r.mfu = share_of(tflops, rates_.spec_tflops);
    r.mfu_measured = share_of(tflops, rates_.measured_tflops);
    stop_requested_ = stop_requested_ || row[at][kStopRequests] != 0;
    records.push_back(r);
  }
  pending_.clear();
  return records;
}

run::StepSummary summarize(const std::vector<StepRecord>& records, int64_t warmup_steps, const Rates& rates) {
  run::StepSummary summary{.flops_per_step = rates.flops_per_step};
  if (records.empty()) return summary;
  const bool enough = static_cast<int64_t>(records.size()) > warmup_steps;
  const std::vector<StepRecord> kept(records.begin() + (enough ? warmup_steps : 0), records.end());
  std::vector<double> ms;
  double wait_ms = 0;
  for (const StepRecord& r : kept) {
    ms.push_back(r.step_ms);
    wait_ms += r.data_wait_ms;
  }
  std::sort(ms.begin(), ms.end());
  const double total_ms = std::accumulate(ms.begin(), ms.end(), 0.0);
  const double steps_per_s = static_cast<double>(kept.size()) / (total_ms / 1e3);
  summary.median_ms = quantile(ms, 0.5);
  summary.p10_ms = quantile(ms, 0.1);
  summary.p90_ms = quantile(ms, 0.9);
  summary.per_s = rates.units_per_step * steps_per_s;
  summary.data_wait_share = wait_ms / total_ms;
  summary.mfu = share_of(rates.flops_per_step * steps_per_s / 1e12, rates.spec_tflops);
  summary.mfu_measured = share_of(rates.flops_per_step * steps_per_s / 1e12, rates.measured_tflops);
  return summary;
}

}  // namespace trainctl::train
