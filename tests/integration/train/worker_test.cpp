// The real worker on the real engine: whole trials of a tiny model, one and two processes.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "launch/console.h"
#include "launch/launcher.h"
#include "run/trial.h"
#include "spec/load.h"

using namespace trainctl;  // NOLINT: a test
namespace fs = std::filesystem;

namespace {

/// A trial in a folder of its own that is removed at the end.
struct TempTrial {
  run::Trial trial;

  explicit TempTrial(const std::vector<std::string>& sets) {
    static int count = 0;
    trial.name = "train";
    trial.dir = fs::temp_directory_path() / fmt::format("worker_test.{}.{}", getpid(), count++);
    fs::create_directories(trial.dir);
    trial.spec = spec::load_job_text(kJob, "job.yaml", sets).spec;
  }
  ~TempTrial() { fs::remove_all(trial.dir); }

  static constexpr const char* kJob = R"(
name: tiny
seed: 5
launch: {device: cpu, nproc_per_node: 1, threads: 1, timeout_s: 30, kill_timeout_s: 5}
model: {preset: gpt2-tiny}
data: {format: synthetic, seq_len: 16, shuffle: false}
train: {steps: 6, micro_batch: 4}
metrics: {log_every: 2, measure_peak: false}
)";
};

launch::GroupEnd run_job(const TempTrial& job) {
  const char* const binary = std::getenv("TRAINCTL_BIN");
  REQUIRE(binary != nullptr);
  setenv("TRAINCTL_WORKER", binary, 1);
  launch::Console console({.fd = open("/dev/null", O_WRONLY | O_CLOEXEC)});
  launch::LocalLauncher launcher(console, {});
  return launcher.run(job.trial);
}

std::vector<nlohmann::json> metrics(const TempTrial& job) {
  std::ifstream file(job.trial.dir / "metrics.jsonl");
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

std::vector<double> losses(const TempTrial& job) {
  std::vector<double> numbers;
  for (const auto& line : metrics(job)) {
    if (line.contains("loss")) numbers.push_back(line["loss"].is_null() ? NAN : line["loss"].get<double>());
  }
  return numbers;
}

run::TrialResult result(const TempTrial& job) {
  const auto r = run::read_result(job.trial.dir);
  REQUIRE(r.has_value());
  return *r;
}

}  // namespace

TEST_CASE("a trial on one process leaves metrics and a result", "[train]") {
  const TempTrial job({});
  const auto end = run_job(job);
  REQUIRE(end.exits.size() == 1);
  const auto lines = metrics(job);
  REQUIRE(lines.size() == 6);
  for (const char* key :
       {"step", "loss", "grad_norm", "lr", "step_ms", "tokens_per_s", "data_wait_ms", "rss_mb"}) {
    INFO(key);
    CHECK(lines[5].at(key).is_number());
  }
  const auto r = result(job);
  CHECK(r.status == run::TrialResult::Status::kDone);
  CHECK(r.steps == 6);
  CHECK(r.losses_finite);
  CHECK(r.first_loss == Approx(std::log(256)).margin(0.3));  // random weights know nothing of 256 tokens
  CHECK(r.final_loss == lines[5]["loss"].get<double>());     // a tenth of 6 steps is one
  CHECK(r.parameter_hash.size() == 32);
  CHECK(r.step.median_ms > 0);
  CHECK(r.start_to_step0_s > r.load_s);
  REQUIRE(r.ranks.size() == 1);
  CHECK(r.ranks[0].peak_rss_mb > 50);
}

TEST_CASE("two ranks follow one process with the same global batch", "[train]") {
  const TempTrial one({"train.micro_batch=8"});
  const TempTrial two({"launch.nproc_per_node=2", "train.hash_every=1"});
  const TempTrial accumulated({"train.accumulate=2"});
  for (const TempTrial* job : {&one, &two, &accumulated}) run_job(*job);
  REQUIRE(losses(two).size() == 6);
  for (size_t i = 0; i < 6; ++i) {
    // fp32 sums in another order; PyTorch's own DDP against one process differs by as much.
    CHECK(losses(two)[i] == Approx(losses(one)[i]).epsilon(1e-5));
    CHECK(losses(accumulated)[i] == Approx(losses(one)[i]).epsilon(1e-5));
  }
  CHECK(result(two).ranks.size() == 2);
}

TEST_CASE("a trial repeats to the bit", "[train]") {
  const TempTrial a({}), b({});
  run_job(a);
  run_job(b);
  CHECK(losses(a) == losses(b));
  CHECK(result(a).parameter_hash == result(b).parameter_hash);
}

TEST_CASE("dropout differs between ranks and initial weights do not", "[train]") {
  // A sequence as long as the data: every rank gets the one sample there is, so the mean over two ranks is
  // rank 0's loss exactly where both draw the same mask.
  const auto first_loss = [](int ranks, double dropout) {
    const TempTrial job(
        {fmt::format("launch.nproc_per_node={}", ranks), fmt::format("model.dropout={}", dropout),
         "train.micro_batch=1", "train.steps=1", "data.format=tokens_u16",
         "data.train=[" + (fs::temp_directory_path() / "worker_test_tokens.bin").string() + "]"});
    run_job(job);
    return losses(job).at(0);
  };
  {
    std::ofstream file(fs::temp_directory_path() / "worker_test_tokens.bin", std::ios::binary);
    for (uint16_t token = 0; token < 17; ++token) file.write(reinterpret_cast<const char*>(&token), 2);
  }
  CHECK(first_loss(1, 0.0) == Approx(first_loss(2, 0.0)).epsilon(1e-7));
  CHECK(std::abs(first_loss(1, 0.5) - first_loss(2, 0.5)) > 1e-4);
  fs::remove(fs::temp_directory_path() / "worker_test_tokens.bin");
}

TEST_CASE("a loss that is not finite stops all ranks with exit 1 and names step and batch", "[train]") {
  const TempTrial job(
      {"launch.nproc_per_node=2", "optimizer.lr=1e38", "optimizer.clip_norm=0", "schedule.kind=constant"});
  const auto end = run_job(job);
  REQUIRE(end.exits.size() == 2);
  for (const auto& exit : end.exits) {
    REQUIRE(std::holds_alternative<launch::Exited>(exit.end));
    CHECK(std::get<launch::Exited>(exit.end).code == 1);
  }
  const auto errors = run::read_worker_errors(end.attempt_dir);
  REQUIRE_FALSE(errors.empty());
  CHECK(errors[0].kind == "not_finite");
  CHECK(errors[0].step >= 1);
  CHECK_THAT(errors[0].what, Catch::Contains("is not finite") && Catch::Contains("samples") &&
                                 Catch::Contains("not applied on any rank"));
}

TEST_CASE("skipping ends after max_skipped steps in a row", "[train]") {
  const TempTrial job({"optimizer.lr=1e38", "optimizer.clip_norm=0", "schedule.kind=constant",
                       "optimizer.on_nonfinite=skip", "optimizer.max_skipped=3", "train.steps=50"});
  const auto end = run_job(job);
  const auto errors = run::read_worker_errors(end.attempt_dir);
  REQUIRE(errors.size() == 1);
  CHECK_THAT(errors[0].what, Catch::Contains("skipped step 3 in a row"));
  CHECK(metrics(job).back()["skipped"] == true);
}

TEST_CASE("fp16 finds its loss scale and the learning rate waits for it", "[train]") {
  // At 2^40 the gradient of the first logits overflows for certain; the steps until it fits are skipped.
  const TempTrial job({"launch.nproc_per_node=2", "precision.compute=fp16",
                       "precision.loss_scale=1099511627776", "optimizer.max_skipped=40",
                       "schedule.warmup_steps=20", "train.steps=40", "train.micro_batch=1",
                       "data.seq_len=4"});
  run_job(job);
  const auto r = result(job);
  CHECK(r.status == run::TrialResult::Status::kDone);  // with equal parameters on both ranks
  CHECK(r.skipped_steps >= 10);
  CHECK(r.skipped_steps < 30);
  CHECK(r.losses_finite);
  double scale = 1099511627776;
  int64_t applied = 0;
  for (const auto& line : metrics(job)) {
    INFO(line.dump());
    CHECK(line.at("loss_scale") == scale);
    if (applied < 20) CHECK(line.at("lr") == Approx(3e-4 * static_cast<double>(applied + 1) / 20));
    if (line.at("skipped") == true)
      scale /= 2;
    else
      ++applied;
  }
  CHECK(applied + r.skipped_steps == 40);
}

TEST_CASE("fp16 that never fits ends after max_skipped steps with advice to use bf16", "[train]") {
  const TempTrial job({"launch.nproc_per_node=2", "precision.compute=fp16", "precision.loss_scale=1e30",
                       "optimizer.max_skipped=3", "train.micro_batch=1", "data.seq_len=4"});
  const auto end = run_job(job);
  REQUIRE(end.exits.size() == 2);
  for (const auto& exit : end.exits) CHECK(std::get<launch::Exited>(exit.end).code == 1);
  const auto errors = run::read_worker_errors(end.attempt_dir);
  REQUIRE_FALSE(errors.empty());
  CHECK(errors[0].kind == "not_finite");
  CHECK(errors[0].step == 2);
  CHECK_THAT(errors[0].what, Catch::Contains("skipped step 3 in a row"));
  CHECK_THAT(errors[0].help, Catch::Contains("set precision.compute to bf16"));
  for (const auto& line : metrics(job)) {
    CHECK(line["skipped"] == true);
    CHECK(line["loss"].is_number());
    CHECK(line["lr"] == Approx(3e-4).epsilon(1e-12));  // the first of the cosine, each time
  }
  CHECK(result(job).status == run::TrialResult::Status::kFailed);
}

TEST_CASE("SIGTERM ends all ranks after the step with status stopped", "[train]") {
  const TempTrial job({"launch.nproc_per_node=2", "train.steps=1000000", "metrics.log_every=1"});
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, nullptr);  // before the thread: only the launcher's signalfd sees it
  std::thread sender([&] {
    while (metrics(job).size() < 3) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    kill(getpid(), SIGTERM);
  });
  const auto end = run_job(job);
  sender.join();
  pthread_sigmask(SIG_UNBLOCK, &term, nullptr);
  for (const auto& exit : end.exits) CHECK(std::get<launch::Exited>(exit.end).code == 0);
  const auto r = result(job);
  CHECK(r.status == run::TrialResult::Status::kStopped);
  CHECK(r.steps >= 3);
  CHECK(static_cast<size_t>(r.steps) == losses(job).size());
}

TEST_CASE("held-out samples are counted once over all ranks", "[train]") {
  std::vector<double> eval_losses;
  for (const int ranks : {1, 2}) {
    TempTrial job({fmt::format("launch.nproc_per_node={}", ranks), "data.holdout=0.001", "train.steps=1",
                   "optimizer.lr=1e-12", "eval.micro_batch=3"});
    job.trial.evaluate = true;
    run_job(job);
    const auto r = result(job);
    REQUIRE(r.eval_loss.has_value());
    CHECK(r.eval_samples == 65);  // the last thousandth of 65535 windows of 16 tokens
    CHECK(*r.eval_loss == Approx(*r.eval_loss_before).epsilon(1e-5));  // the step was too small to matter
    eval_losses.push_back(*r.eval_loss);
  }
  CHECK(eval_losses[0] == Approx(eval_losses[1]).epsilon(1e-6));  // sums in another order
}

TEST_CASE("text is generated from the weights that training left", "[train]") {
  TempTrial job({"tokenizer.kind=bytes"});
  job.trial.save_weights = true;
  job.trial.weights = job.trial.dir / "model.safetensors";
  run_job(job);
  const std::string output = (job.trial.dir / "text").string();
  const auto generate = [&](const std::string& dir) {
    const std::string command = fmt::format("{} generate {} --prompt 'to be' --tokens 8 > {} 2>&1",
                                            std::getenv("TRAINCTL_BIN"), dir, output);
    const int code = std::system(command.c_str());
    std::ifstream file(output);
    return std::make_pair(WEXITSTATUS(code), std::string(std::istreambuf_iterator<char>(file), {}));
  };
  const auto [code, text] = generate(job.trial.dir.string());
  CHECK(code == 0);
  CHECK(text.starts_with("to be"));
  CHECK(generate(job.trial.dir.string()).second == text);  // one seed, one text
  fs::remove(job.trial.weights);
  const auto [missing_code, message] = generate(job.trial.dir.string());
  CHECK(missing_code == 2);
  CHECK_THAT(message, Catch::Contains("has no weights"));
}
