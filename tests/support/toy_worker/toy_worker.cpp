// toy_worker.cpp: stands in for `trainctl worker <trial dir>` (TRAINCTL_WORKER): trains nothing, writes what
// a real one would, and misbehaves as told by TOY, a list of words for every rank or `rank<r>:word`:
//
//   step_ms=N       a step takes N ms (1)            loss=falling|rising|flat|nan   (falling)
//   wait=SHARE      of the step time                 device=TEXT                    ("cpu: toy")
//   random          losses differ from run to run    kill=N@STEP   exit=N@STEP   error=KIND@STEP
//   deaf            ignores SIGTERM and SIGINT       child         starts a child in a session of its own
//   flood=MB        prints that much before step 0   stop@STEP     SIGSTOPs itself
//   no_result       ends well without a result.json
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

#include "run/trial.h"
#include "run/worker_env.h"

namespace {

using trainctl::run::Trial;
using trainctl::run::TrialResult;

volatile sig_atomic_t stop_asked = 0;

struct Toy {
  int step_ms = 1;
  std::string loss = "falling", device = "cpu: toy", error_kind;
  double wait = 0.01;
  bool random = false, deaf = false, child = false, no_result = false;
  int flood_mb = 0, kill_signal = 0, exit_code = 0;
  int64_t kill_at = -1, exit_at = -1, error_at = -1, stop_at = -1;
};

Toy read_toy(int rank) {
  Toy toy;
  const char* const text = std::getenv("TOY");
  std::istringstream words(text == nullptr ? "" : text);
  for (std::string word; words >> word;) {
    if (word.starts_with("rank")) {
      const size_t colon = word.find(':');
      if (std::stoi(word.substr(4, colon - 4)) != rank) continue;
      word = word.substr(colon + 1);
    }
    const std::string key = word.substr(0, word.find_first_of("=@"));
    const std::string value = word.find('=') == std::string::npos ? "" : word.substr(word.find('=') + 1);
    const int64_t at = word.find('@') == std::string::npos ? -1 : std::stoll(word.substr(word.find('@') + 1));
    if (key == "step_ms") toy.step_ms = std::stoi(value);
    if (key == "loss") toy.loss = value;
    if (key == "device") toy.device = value;
    if (key == "wait") toy.wait = std::stod(value);
    if (key == "random") toy.random = true;
    if (key == "deaf") toy.deaf = true;
    if (key == "child") toy.child = true;
    if (key == "no_result") toy.no_result = true;
    if (key == "flood") toy.flood_mb = std::stoi(value);
    if (key == "kill") toy.kill_signal = std::stoi(value), toy.kill_at = at;
    if (key == "exit") toy.exit_code = std::stoi(value), toy.exit_at = at;
    if (key == "error") toy.error_kind = value.substr(0, value.find('@')), toy.error_at = at;
    if (key == "stop") toy.stop_at = at;
  }
  return toy;
}

double loss_at(const Toy& toy, int64_t step) {
  const double noise = 0.01 * std::sin(7.0 * static_cast<double>(step));
  if (toy.loss == "nan" && step >= 2) return NAN;
  if (toy.loss == "flat") return 3 + noise;
  const double slope = toy.loss == "rising" ? 0.05 : -0.05;
  const double shift = toy.random ? 1e-9 * static_cast<double>(getpid()) : 0;
  return 5.5 + slope * static_cast<double>(step) + noise + shift;
}

std::string number(double value) {
  char text[32] = "null";
  if (!std::isnan(value)) std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
}

void start_child() {
  if (fork() != 0) return;
  setsid();
  if (fork() != 0) _exit(0);  // an orphan at once, in a session of its own
  signal(SIGTERM, SIG_IGN);
  for (;;) pause();
}

void print_flood(int megabytes) {
  const std::string line(99, 'x');
  for (int i = 0; i < megabytes * 10'000; ++i) std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void misbehave(const Toy& toy, int64_t step, const trainctl::run::WorkerEnv& env) {
  if (step == toy.stop_at) raise(SIGSTOP);
  if (step == toy.kill_at) raise(toy.kill_signal);
  if (step == toy.exit_at) {
    std::fprintf(stderr, "toy: giving up\n");
    _exit(toy.exit_code);
  }
  if (step == toy.error_at) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    trainctl::run::write_worker_error({.rank = env.rank,
                                       .step = step,
                                       .kind = toy.error_kind,
                                       .what = "the toy broke",
                                       .help = "buy a new one",
                                       .monotonic_ns = now.tv_sec * 1'000'000'000 + now.tv_nsec},
                                      env.attempt_dir);
    _exit(1);
  }
}

TrialResult result_of(const Toy& toy, const Trial& trial, int64_t steps, int world_size) {
  TrialResult result{.status = stop_asked != 0 ? TrialResult::Status::kStopped : TrialResult::Status::kDone,
                     .device = toy.device,
                     .num_parameters = 1000,
                     .steps = steps,
                     .first_loss = loss_at(toy, 0),
                     .final_loss = loss_at(toy, steps - 1),
                     .losses_finite = toy.loss != "nan",
                     .parameter_hash = toy.random ? std::to_string(getpid()) : "5eed"};
  result.step = {
      .median_ms = 10, .p10_ms = 9, .p90_ms = 11, .per_s = 1000.0 * world_size, .data_wait_share = toy.wait};
  result.step.mfu_measured = 0.4;
  for (int rank = 0; rank < world_size; ++rank) result.ranks.push_back({rank, 10.0, std::nullopt, toy.wait});
  if (trial.evaluate) {
    result.eval_loss_before = 5.5;
    result.eval_loss = 2.1;
    result.eval_samples = 10;
    result.unigram_entropy = 3.33;
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || std::string(argv[1]) != "worker") return 2;
  const auto env = trainctl::run::worker_env_from_process();
  const Toy toy = read_toy(env.rank);
  const Trial trial = trainctl::run::read_trial(argv[2]);
  for (const int s : {SIGTERM, SIGINT})
    signal(
        s, toy.deaf ? SIG_IGN : +[](int) { stop_asked = 1; });
  if (toy.child) start_child();
  print_flood(toy.flood_mb);
  std::ofstream metrics;
  if (env.rank == 0) metrics.open(trial.dir / "metrics.jsonl");
  int64_t step = 0;
  for (; step < trial.spec.train.steps && stop_asked == 0; ++step) {
    misbehave(toy, step, env);
    usleep(static_cast<useconds_t>(toy.step_ms) * 1000);
    const double loss = loss_at(toy, step);
    if (env.rank != 0) continue;
    metrics << "{\"step\":" << step << ",\"loss\":" << number(loss)
            << ",\"grad_norm\":1.5,\"skipped\":false}\n"
            << std::flush;
    std::printf("step %lld/%lld  loss %.4f\n", static_cast<long long>(step + 1),
                static_cast<long long>(trial.spec.train.steps), loss);
    std::fflush(stdout);
  }
  if (env.rank != 0 || toy.no_result) return 0;
  if (trial.save_weights) std::ofstream(trial.weights) << "weights";
  trainctl::run::write_result(result_of(toy, trial, step, env.world_size), trial.dir);
  return 0;
}
