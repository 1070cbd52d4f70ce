// Plans and judgements, with a launcher that starts nothing.
#include <signal.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "stages/judge.h"
#include "stages/stage.h"
#include "support/files.h"
#include "support/temp_dir.h"
#include "util/diagnostic.h"

namespace trainctl::stages {

using report::Finding;
using report::Verdict;
using State = report::Finding::State;

namespace {

std::vector<StepMetrics> losses(const std::vector<double>& values) {
  std::vector<StepMetrics> steps;
  for (const double loss : values) {
    steps.push_back({.step = static_cast<int64_t>(steps.size()), .loss = loss, .grad_norm = 1});
  }
  return steps;
}

run::Job job_in(const test::TempDir& dir) {
  run::Job job{.spec = {}, .dir = {dir.path()}};
  job.spec.launch.nproc_per_node = 4;
  job.spec.launch.device = spec::Device::kCpu;
  job.spec.launch.threads = 2;
  job.spec.train.steps = 500;
  return job;
}

/// Ends as told, after writing what a worker would have.
class FakeLauncher : public launch::Launcher {
 public:
  launch::GroupEnd end;
  run::TrialResult result{
      .status = run::TrialResult::Status::kDone, .device = "cpu: fake", .losses_finite = true};
  bool has_result = true;
  std::vector<run::Trial> seen;

  launch::GroupEnd run(const run::Trial& trial) override {
    seen.push_back(trial);
    std::filesystem::create_directories(trial.dir);
    std::string metrics;
    for (int64_t step = 0; step < trial.spec.train.steps; ++step) {
      metrics += "{\"step\":" + std::to_string(step) +
                 ",\"loss\":" + std::to_string(5 - 0.01 * double(step)) + ",\"grad_norm\":1}\n";
    }
    test::write_file(trial.dir / "metrics.jsonl", metrics);
    result.steps = trial.spec.train.steps;
    result.step = {.median_ms = 5, .per_s = 100.0 * static_cast<double>(*trial.spec.launch.nproc_per_node)};
    if (trial.save_weights) test::write_file(trial.weights, "w");
    if (has_result) run::write_result(result, trial.dir);
    return end;
  }
};

const report::Figure* figure(const report::Report& report, const std::string& key) {
  for (const auto& f : report.figures) {
    if (f.key == key) return &f;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("the loss falls or rises or cannot be told from noise", "[stages]") {
  CHECK(loss_falls(losses({5, 4.9, 4.8, 4.7, 4.6, 4.5, 4.4, 4.3})).state == State::kMet);
  CHECK(loss_falls(losses({4, 4.1, 4.2, 4.3, 4.4, 4.5, 4.6, 4.7})).state == State::kNotMet);
  CHECK(loss_falls(losses({3, 3.4, 3, 3.4, 3, 3.4, 2.9, 3.4})).state == State::kNotApplicable);
  CHECK(loss_falls(losses({3, 3, 3, 3, 3, 3, 3, 3})).state == State::kNotApplicable);
  CHECK(loss_falls(losses({5, 4, 3, 2, 1, 0, 0})).state == State::kNotApplicable);  // 7 steps
  CHECK(loss_falls(losses({5, 4.9, NAN, 4.7, 4.6, 4.5, 4.4, 4.3, 4.2})).state == State::kMet);
}

TEST_CASE("losses and gradients that are not finite are found", "[stages]") {
  CHECK(loss_is_finite(losses({1, 2})).state == State::kMet);
  CHECK(loss_is_finite(losses({1, NAN})).state == State::kNotMet);
  CHECK(loss_is_finite({}).state == State::kNotMet);
  auto steps = losses({1, 1});
  CHECK(gradients_are_finite(steps).state == State::kMet);
  steps[1].grad_norm = INFINITY;
  CHECK(gradients_are_finite(steps).state == State::kNotMet);
  steps[1] = {.step = 1, .loss = 1, .grad_norm = 1, .skipped = true};
  CHECK(gradients_are_finite(steps).state == State::kNotMet);
  for (auto& step : steps) step = {.loss = 1, .grad_norm = 0};
  CHECK(gradients_are_finite(steps).state == State::kNotMet);  // nothing is learned
}

TEST_CASE("metrics skip evaluations and an unfinished last line", "[stages]") {
  const test::TempDir dir;
  const auto file = dir / "metrics.jsonl";
  CHECK(read_metrics(file).empty());
  test::write_file(file,
                   "{\"step\":0,\"loss\":2.5,\"grad_norm\":1}\n{\"step\":1,\"eval_loss\":2}\n"
                   "{\"step\":1,\"loss\":null,\"grad_norm\":null,\"skipped\":true}\n{\"step\":2,\"lo");
  const auto steps = read_metrics(file);
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].loss == 2.5);
  CHECK(std::isnan(steps[1].loss));
  CHECK(steps[1].skipped);
  test::write_file(file, "oops\n");
  CHECK_THROWS_WITH(read_metrics(file), Catch::Contains("metrics.jsonl:1"));
}

TEST_CASE("the baseline is one process with the threads of one and the schedule of the job", "[stages]") {
  const test::TempDir dir;
  run::Job job = job_in(dir);
  job.spec.baseline = {.steps = 10, .warmup_steps = 2};
  const auto trials = plan_baseline(job);
  REQUIRE(trials.size() == 2);
  CHECK(trials[0].dir != trials[1].dir);
  for (const auto& trial : trials) {
    CHECK(trial.spec.launch.nproc_per_node == 1);
    CHECK(trial.spec.launch.threads == 2);
    CHECK(trial.spec.train.steps == 12);
    CHECK(trial.spec.schedule.total_steps == 500);
    CHECK(trial.spec.seed == job.spec.seed);
    CHECK_FALSE(trial.save_weights);
  }
}

TEST_CASE("training is compared with the baseline per process", "[stages]") {
  const test::TempDir dir;
  const run::Job job = job_in(dir);
  FakeLauncher launcher;
  const auto baseline = run_stage(all_stages()[0], job, launcher);
  CHECK(baseline.verdict == Verdict::kPassed);
  CHECK(launcher.seen.size() == 2);
  launcher.result.eval_loss = 2.0;
  launcher.result.unigram_entropy = 3.33;
  const auto train = run_stage(all_stages()[1], job, launcher);
  CHECK(train.verdict == Verdict::kPassed);
  REQUIRE(figure(train, "efficiency") != nullptr);
  CHECK(figure(train, "speed_up")->value == 4);
  CHECK(figure(train, "efficiency")->value == 1);
  CHECK(figure(train, "eval_loss")->value == 2.0);
  CHECK(figure(train, "unigram_entropy")->value == 3.33);
}

TEST_CASE("what did not get to its end is told apart", "[stages]") {
  const test::TempDir dir;
  const run::Job job = job_in(dir);
  FakeLauncher launcher;
  const Stage& train = all_stages()[1];
  SECTION("a worker died") {
    launcher.end.exits = {{1, 42, launch::Signalled{SIGSEGV}, 5, 0}};
    const auto report = run_stage(train, job, launcher);
    CHECK(report.verdict == Verdict::kFailed);
    CHECK(report.exit_code == kExitJob);
    CHECK_THAT(report.message, Catch::Contains("SIGSEGV"));
  }
  SECTION("a worker died and the survivors stopped well") {
    launch::WorkerExit killed{1, 42, launch::Signalled{SIGKILL}, 5, 0},
        survivor{0, 41, launch::Exited{0}, 6, 0};
    launcher.end.exits = {killed, survivor};
    launcher.result.status = run::TrialResult::Status::kStopped;
    CHECK(run_stage(train, job, launcher).verdict == Verdict::kFailed);
  }
  SECTION("a signal stopped it") {
    launcher.end.stop_signal = SIGINT;
    const auto report = run_stage(train, job, launcher);
    CHECK(report.verdict == Verdict::kStopped);
    CHECK(report.exit_code == 130);
  }
  SECTION("the workers stopped by themselves") {
    launcher.result.status = run::TrialResult::Status::kStopped;
    CHECK(run_stage(train, job, launcher).exit_code == 143);
  }
  SECTION("the workers say that it failed") {
    launcher.result.status = run::TrialResult::Status::kFailed;
    launcher.result.message = "the disk is full";
    CHECK_THAT(run_stage(train, job, launcher).message, Catch::Contains("the disk is full"));
  }
  SECTION("no result") {
    launcher.has_result = false;
    CHECK_THROWS_AS(run_stage(train, job, launcher), std::logic_error);
  }
  SECTION("a check fails") {
    launcher.result.device = "cuda: something else";
    const auto report = run_stage(train, job, launcher);
    CHECK(report.verdict == Verdict::kCheckFailed);
    CHECK(report.exit_code == kExitCheck);
  }
}

}  // namespace trainctl::stages
