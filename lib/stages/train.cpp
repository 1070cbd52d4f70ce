// train.cpp: the long run, with all processes.  It passes when it gets to its end.
#include <fmt/format.h>

#include <optional>

#include "report/text.h"
#include "stages/judge.h"
#include "stages/stage.h"

namespace trainctl::stages {

using report::quantity;

namespace {

/// Against the baseline of the same run, where there is one.
void add_scaling(const run::Job& job, const run::TrialResult& result, report::Report& report) {
  const auto baseline = run::read_result(job.dir.trial("baseline"));
  if (!baseline || baseline->step.per_s <= 0) return;
  const auto processes = static_cast<double>(job.spec.launch.nproc_per_node.value());
  const double speed_up = result.step.per_s / baseline->step.per_s;
  report.figures.push_back({"speed_up", "against the baseline", speed_up, "",
                            fmt::format("times the throughput, with {:.0f} processes", processes)});
  report.figures.push_back({"efficiency", "efficiency per process", speed_up / processes, "share",
                            "of the baseline's throughput"});
}

void add_losses(const run::TrialResult& result, report::Report& report) {
  auto& figures = report.figures;
  const std::string unit = result.unit == "tokens" ? "nats" : "loss";
  figures.push_back({"first_loss", "loss, first step", result.first_loss, unit, ""});
  figures.push_back({"final_loss", "loss, last tenth", result.final_loss, unit, ""});
  if (result.eval_loss_before) {
    figures.push_back({"eval_loss_before", "held-out loss before", *result.eval_loss_before, unit, ""});
  }
  if (!result.eval_loss) return;
  std::string note = fmt::format("{} samples, each once", result.eval_samples);
  figures.push_back({"eval_loss", "held-out loss after", *result.eval_loss, unit, note});
  if (result.unigram_entropy) {
    figures.push_back({"unigram_entropy", "unigram entropy", *result.unigram_entropy, unit,
                       "of the held-out data: what knowing the frequencies alone would reach"});
  }
}

}  // namespace

std::vector<run::Trial> plan_train(const run::Job& job) {
  return {{.name = "train",
           .dir = job.dir.trial("train"),
           .spec = job.spec,
           .warmup_steps = job.spec.baseline.warmup_steps,
           .evaluate = true,
           .save_weights = true,
           .weights = job.dir.weights()}};
}

void judge_train(const run::Job& job, const std::vector<TrialOutcome>& outcomes, report::Report& report) {
  const TrialOutcome& outcome = outcomes.at(0);
  const run::TrialResult& result = outcome.result;
  report.findings = {
      finding("all_steps", "all steps are done", result.steps == job.spec.train.steps,
              fmt::format("{} of {}, {} skipped", result.steps, job.spec.train.steps, result.skipped_steps)),
      finding("loss_finite", "loss is finite", result.losses_finite, fmt::format("{} steps", result.steps),
              false),
      finding("weights_saved", "weights are saved", std::filesystem::exists(outcome.trial.weights),
              outcome.trial.weights.string()),
      device_is_used(outcome),
  };
  add_losses(result, report);
  add_speed_figures(result, report.figures);
  add_scaling(job, result, report);
  report.tables.push_back(rank_table(result));
}

}  // namespace trainctl::stages
