#include "stages/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/text.h"

namespace trainctl::stages {

using report::Finding;
using report::quantity;

namespace {

struct Moments {
  double mean = 0, error = 0;  // the standard error of the mean
};

Moments moments(std::span<const StepMetrics> steps) {
  const auto n = static_cast<double>(steps.size());
  double sum = 0, squares = 0;
  for (const StepMetrics& s : steps) sum += s.loss;
  for (const StepMetrics& s : steps) squares += (s.loss - sum / n) * (s.loss - sum / n);
  return {sum / n, std::sqrt(squares / (n - 1) / n)};
}

}  // namespace

Finding finding(const char* key, const char* what, bool met, std::string evidence, bool required) {
  return {key, met ? Finding::State::kMet : Finding::State::kNotMet, what, std::move(evidence), required};
}

Finding not_applicable(const char* key, const char* what, std::string why) {
  return {key, Finding::State::kNotApplicable, what, std::move(why), false};
}

Finding loss_falls(const std::vector<StepMetrics>& steps) {
  constexpr const char* kKey = "loss_falls";
  constexpr const char* kWhat = "loss falls";
  constexpr size_t kFewest = 8;  // two in a quarter: fewer have no standard error
  std::vector<StepMetrics> finite;
  std::copy_if(steps.begin(), steps.end(), std::back_inserter(finite),
               [](const StepMetrics& s) { return std::isfinite(s.loss); });
  if (finite.size() < kFewest) {
    return not_applicable(kKey, kWhat,
                          fmt::format("{} steps are too few, it takes {}", finite.size(), kFewest));
  }
  const size_t quarter = finite.size() / 4;
  const std::span<const StepMetrics> all(finite);
  const Moments first = moments(all.first(quarter)), last = moments(all.last(quarter));
  const double noise = 2 * std::hypot(first.error, last.error);
  const std::string evidence =
      fmt::format("{:.4f} -> {:.4f} (means of the first and the last {} of {} steps, noise {:.2g})",
                  first.mean, last.mean, quarter, finite.size(), noise);
  if (last.mean < first.mean - noise) return finding(kKey, kWhat, true, evidence);
  if (last.mean > first.mean + noise) return finding(kKey, kWhat, false, evidence);
  return not_applicable(kKey, kWhat, evidence + ": too little to tell; raise `baseline.steps`");
}

Finding loss_is_finite(const std::vector<StepMetrics>& steps) {
  const auto good =
      std::count_if(steps.begin(), steps.end(), [](const auto& s) { return std::isfinite(s.loss); });
  const bool all = !steps.empty() && good == static_cast<std::ptrdiff_t>(steps.size());
  return finding("loss_finite", "loss is finite", all, fmt::format("{} of {} steps", good, steps.size()));
}

Finding gradients_are_finite(const std::vector<StepMetrics>& steps) {
  const auto is_good = [](const StepMetrics& s) { return std::isfinite(s.grad_norm) && !s.skipped; };
  const auto good = std::count_if(steps.begin(), steps.end(), is_good);
  double smallest = INFINITY, largest = 0;
  for (const StepMetrics& s : steps) {
    if (!is_good(s)) continue;
    smallest = std::min(smallest, s.grad_norm);
    largest = std::max(largest, s.grad_norm);
  }
  const bool met = !steps.empty() && good == static_cast<std::ptrdiff_t>(steps.size()) && largest > 0;
  std::string evidence = fmt::format("{} of {} steps", good, steps.size());
  if (good > 0) evidence += fmt::format(", norm {:.3g} to {:.3g}", smallest, largest);
  return finding("gradients_finite", "gradients are finite and not zero", met, evidence);
}

Finding device_is_used(const TrialOutcome& outcome) {
  const bool asked_cuda = outcome.trial.spec.launch.device == spec::Device::kCuda;
  const std::string asked = asked_cuda ? "cuda" : "cpu";
  bool met = outcome.result.device.starts_with(asked);
  std::string evidence = outcome.result.device;
  const auto& ranks = outcome.result.ranks;
  if (asked_cuda && !ranks.empty()) {
    const double peak_mb = ranks.front().peak_device_mb.value_or(0);
    met = met && peak_mb > 0;
    evidence += ", peak " + quantity(peak_mb, "MB");
  } else if (!asked_cuda && outcome.end.wall_s > 0 && !outcome.end.exits.empty()) {
    evidence += fmt::format(", {:.2f} of {} cores busy on average, start-up included",
                            outcome.end.exits.front().cpu_s / outcome.end.wall_s,
                            outcome.trial.spec.launch.threads.value_or(1));
  }
  return finding("device_used", "device is the one asked for", met, evidence);
}

Finding data_keeps_up(const run::TrialResult& result, double max_share) {
  const double share = result.step.data_wait_share;
  // Of a step of a millisecond, a wake-up of the reading thread is a large share and says nothing about the
  // data.
  constexpr double kNegligibleMs = 1;
  const double wait_ms = share * result.step.median_ms;
  return finding(
      "data_keeps_up", "data keeps up", share <= max_share || wait_ms < kNegligibleMs,
      fmt::format("{} of the step time is waiting, {} (`baseline.max_data_wait`) or {:.0f} ms allowed",
                  quantity(share, "share"), quantity(max_share, "share"), kNegligibleMs));
}

void add_speed_figures(const run::TrialResult& result, std::vector<report::Figure>& figures) {
  const run::StepSummary& step = result.step;
  figures.push_back(
      {"step_ms", "step time", step.median_ms, "ms",
       fmt::format("median; p10 {}, p90 {}", quantity(step.p10_ms, "ms"), quantity(step.p90_ms, "ms"))});
  figures.push_back({"per_s", "throughput", step.per_s, result.unit + "/s", "all processes together"});
  if (step.mfu) figures.push_back({"mfu", "MFU", *step.mfu, "share", "of the data sheet's peak"});
  if (step.mfu_measured) {
    std::string note = "of the measured matmul peak";
    if (result.measured_peak_tflops) note += ", " + quantity(*result.measured_peak_tflops, "TFLOP/s");
    figures.push_back({"mfu_measured", "MFU", *step.mfu_measured, "share", note});
  }
  figures.push_back(
      {"data_wait", "data wait", step.data_wait_share, "share", "of the step time, worst rank"});
}

report::Table rank_table(const run::TrialResult& result) {
  const bool on_device = !result.ranks.empty() && result.ranks.front().peak_device_mb.has_value();
  report::Table table{.title = "per rank",
                      .columns = {{"rank", "rank", ""},
                                  {"peak_rss_mb", "peak RSS", "MB"},
                                  {"data_wait", "data wait", "share"}},
                      .rows = {}};
  if (on_device) table.columns.push_back({"peak_device_mb", "peak device", "MB"});
  for (const run::RankSummary& rank : result.ranks) {
    std::vector<report::Cell> row = {static_cast<double>(rank.rank), rank.peak_rss_mb, rank.data_wait_share};
    if (on_device) row.emplace_back(rank.peak_device_mb.value_or(0));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace trainctl::stages
