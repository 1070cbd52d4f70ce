// `trainctl run` as a whole, with toy workers (support/toy_worker) in place of the engine's.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "run/trial.h"
#include "support/files.h"
#include "support/program.h"
#include "support/temp_dir.h"

namespace trainctl::test {

namespace {

/// A job in a folder of its own, and `trainctl run` on it.
struct Job {
  TempDir dir;
  std::string mark = "TRAINCTL_TEST_MARK=" + dir.path().string();

  explicit Job(const std::string& more = "") {
    write_file(
        dir / "job.yaml",
        "name: toy\nmodel: {family: mlp, layer_sizes: [4, 2]}\ndata: {format: synthetic}\n"
        "launch: {nproc_per_node: 2, device: cpu, threads: 1, kill_timeout_s: 1}\n"
        "train: {steps: 20}\nbaseline: {steps: 12, warmup_steps: 2}\nmetrics: {measure_peak: false}\n" +
            more);
  }

  std::vector<std::string> command(const std::vector<std::string>& flags = {}) const {
    std::vector<std::string> words = {trainctl_bin(), "run", "job.yaml"};
    words.insert(words.end(), flags.begin(), flags.end());
    return words;
  }
  std::vector<std::string> env(const std::string& toy) const {
    const auto tests = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    return {"TRAINCTL_WORKER=" + (tests / "trainctl_toy_worker").string(), "TOY=" + toy, mark};
  }
  std::string log(const std::string& trial, int rank = 0) const {
    return read_file(dir.path() / "runs/toy/trials" / trial / "attempt-0" /
                     ("rank-" + std::to_string(rank) + ".log"));
  }
  bool nothing_left() const {
    return eventually([&] { return processes_with(mark).empty(); });
  }
  /// True once the train stage's rank 0 has done some steps.
  bool training() const {
    return eventually([&] { return log("train").find("step 3/") != std::string::npos; }, 20);
  }
};

}  // namespace

TEST_CASE("a run goes through its stages and reports", "[fault]") {
  const Job job;
  Program run(job.command(), job.env(""), job.dir.path());
  REQUIRE(run.wait() == 0);
  CHECK_THAT(run.out(), Catch::Contains("baseline: passed") && Catch::Contains("train: passed") &&
                            Catch::Contains("unigram entropy") && Catch::Contains("efficiency per process") &&
                            Catch::Contains("report: runs/toy/report.json"));
  CHECK_THAT(run.err(), Catch::Contains("step 20/20"));
  for (const char* const file :
       {"spec.yaml", "report.json", "reports/baseline.json", "reports/train.json", "model.safetensors",
        "trials/train/trial.yaml", "trials/train/result.json", "trials/train/attempt-0/rank-1.log"}) {
    CHECK(std::filesystem::exists(job.dir.path() / "runs/toy" / file));
  }
  CHECK_FALSE(run::read_result(job.dir.path() / "runs/toy/trials/baseline")->eval_loss.has_value());
  CHECK(run.out().find('\033') == std::string::npos);  // no terminal, no colour
  CHECK(job.nothing_left());

  Program again(job.command(), job.env(""), job.dir.path());
  CHECK(again.wait() == 2);
  CHECK_THAT(again.err(), Catch::Contains("exists already") && Catch::Contains("--new"));
  Program numbered(job.command({"--new"}), job.env(""), job.dir.path());
  CHECK(numbered.wait() == 0);
  CHECK(std::filesystem::exists(job.dir.path() / "runs/toy-2/report.json"));
}

TEST_CASE("an output that takes nothing does not end the training", "[fault]") {
  const Job job;
  std::vector<std::string> command{"sh", "-c", "exec \"$0\" \"$@\" >/dev/full"};
  for (const std::string& word : job.command()) command.push_back(word);
  Program run(command, job.env(""), job.dir.path());
  CHECK(run.wait() == 3);
  CHECK_THAT(run.err(), Catch::Contains("cannot write to standard output"));
  CHECK(std::filesystem::exists(job.dir.path() / "runs/toy/model.safetensors"));
  CHECK(std::filesystem::exists(job.dir.path() / "runs/toy/report.json"));
}

TEST_CASE("json is one document and all else is on stderr", "[fault]") {
  const Job job;
  Program run(job.command({"--json"}), job.env(""), job.dir.path());
  REQUIRE(run.wait() == 0);
  CHECK(run.out() == read_file(job.dir.path() / "runs/toy/report.json"));
  CHECK_THAT(run.out(), Catch::StartsWith("{") && Catch::Contains("trainctl.report/1"));
  Program refused(job.command({"--json"}), job.env(""), job.dir.path());
  CHECK(refused.wait() == 2);
  CHECK_THAT(refused.out(), Catch::StartsWith("{") && Catch::Contains("exists already"));
}

TEST_CASE("a dry run starts and writes nothing", "[fault]") {
  const Job job;
  Program run(job.command({"--dry-run", "--set", "train.steps=33"}), job.env("kill=9@0"), job.dir.path());
  REQUIRE(run.wait() == 0);
  CHECK_THAT(run.out(), Catch::Contains("steps: 33") && Catch::Contains("trial train: 2 processes") &&
                            Catch::Contains("RANK=1") && Catch::Contains("OMP_NUM_THREADS=1"));
  CHECK_FALSE(std::filesystem::exists(job.dir.path() / "runs"));
}

TEST_CASE("a worker killed in training fails the run and is named", "[fault]") {
  const Job job;
  Program run(job.command(), job.env("rank1:kill=9@5 step_ms=5"), job.dir.path());
  CHECK(run.wait() == 1);
  CHECK_THAT(run.err(), Catch::Contains("error: rank 1 (pid ") && Catch::Contains("was killed by SIGKILL") &&
                            Catch::Contains("runs/toy/trials/train/attempt-0/rank-1.log"));
  CHECK(job.nothing_left());
}

TEST_CASE("a worker's last words and kind reach the user", "[fault]") {
  const Job job;
  Program run(job.command(), job.env("error=infra@4"), job.dir.path());
  CHECK(run.wait() == 3);
  CHECK_THAT(run.err(), Catch::Contains("failed at step 4") && Catch::Contains("the toy broke") &&
                            Catch::Contains("buy a new one"));
}

TEST_CASE("a check that does not hold ends the run before training", "[fault]") {
  const auto [toy, evidence] =
      GENERATE(table<std::string, std::string>({{"loss=rising", "NOT MET  loss falls"},
                                                {"loss=nan", "NOT MET  loss is finite"},
                                                {"wait=0.5", "NOT MET  data keeps up"},
                                                {"random", "NOT MET  a second run"},
                                                {"device=cuda:x", "NOT MET  device is"}}));
  const Job job;
  Program run(job.command(), job.env(toy), job.dir.path());
  CHECK(run.wait() == 4);
  CHECK_THAT(run.out(), Catch::Contains("baseline: check failed") && Catch::Contains(evidence));
  CHECK_FALSE(std::filesystem::exists(job.dir.path() / "runs/toy/trials/train"));
}

TEST_CASE("a loss that cannot be told from noise does not end the run", "[fault]") {
  const Job job;
  Program run(job.command(), job.env("loss=flat"), job.dir.path());
  CHECK(run.wait() == 0);
  CHECK_THAT(run.out(), Catch::Contains("too little to tell"));
}

TEST_CASE("a worker without a result is a bug", "[fault]") {
  const Job job;
  Program run(job.command(), job.env("no_result"), job.dir.path());
  CHECK(run.wait() == 70);
  CHECK_THAT(run.err(), Catch::Contains("left no result.json"));
}

TEST_CASE("one interrupt stops after the step and two stop now", "[fault]") {
  const bool twice = GENERATE(false, true);
  const Job job("");
  Program run(job.command({"--set", "train.steps=100000", "--set", "launch.kill_timeout_s=60"}),
              job.env(twice ? "deaf step_ms=10" : "step_ms=10"), job.dir.path());
  REQUIRE(job.training());
  run.kill(SIGINT);
  if (twice) {
    ::usleep(400'000);  // later than what counts as the same wish
    run.kill(SIGINT);
  }
  CHECK(run.wait() == 130);
  CHECK_THAT(run.err(), Catch::Contains("stopped by SIGINT"));
  CHECK((run::read_result(job.dir.path() / "runs/toy/trials/train").has_value()) == !twice);
  CHECK(std::filesystem::exists(job.dir.path() / "runs/toy/report.json"));
  CHECK(job.nothing_left());
}

TEST_CASE("SIGTERM to deaf workers ends in SIGKILL after the grace", "[fault]") {
  const Job job;
  Program run(job.command({"--set", "train.steps=100000"}), job.env("deaf step_ms=10"), job.dir.path());
  REQUIRE(job.training());
  run.kill(SIGTERM);
  CHECK(run.wait() == 143);
  CHECK_THAT(run.err(), Catch::Contains("did not end within the kill timeout"));
  CHECK(job.nothing_left());
}

TEST_CASE("SIGKILL of any one process of the launcher leaves nothing behind", "[fault]") {
  const std::string whom = GENERATE("guard", "agent", "worker");
  const Job job;
  Program run(job.command({"--set", "train.steps=100000"}), job.env("child deaf step_ms=10"), job.dir.path());
  REQUIRE(job.training());
  const auto all = processes_with(job.mark);
  REQUIRE(all.size() >= 6);  // guard, agent, two workers, a child of each in a session of its own
  const std::string children =
      read_file("/proc/" + std::to_string(run.pid()) + "/task/" + std::to_string(run.pid()) + "/children");
  const pid_t agent = std::stoi(children);
  const std::string workers =
      read_file("/proc/" + std::to_string(agent) + "/task/" + std::to_string(agent) + "/children");
  if (whom == "guard") run.kill(SIGKILL);
  if (whom == "agent") ::kill(agent, SIGKILL);
  if (whom == "worker") ::kill(std::stoi(workers), SIGKILL);
  CHECK(run.wait() == (whom == "worker" ? 1 : 137));
  CHECK(job.nothing_left());
}

TEST_CASE("two runs at once share neither port nor folder", "[fault]") {
  const Job job;
  std::vector<std::unique_ptr<Program>> runs;
  for (int i = 0; i < 2; ++i) {
    runs.push_back(std::make_unique<Program>(job.command({"--new"}), job.env("step_ms=5"), job.dir.path()));
  }
  for (auto& run : runs) CHECK(run->wait() == 0);
  CHECK(std::filesystem::exists(job.dir.path() / "runs/toy/report.json"));
  CHECK(std::filesystem::exists(job.dir.path() / "runs/toy-2/report.json"));
}

TEST_CASE("a run folder that cannot be made is said before anything starts", "[fault]") {
  const Job job;
  write_file(job.dir / "runs", "a file in the way");
  Program run(job.command(), job.env(""), job.dir.path());
  CHECK(run.wait() == 3);
  CHECK_THAT(run.err(), Catch::Contains("cannot make the run folder"));
}

TEST_CASE("bad flags and ranks exit with 2", "[fault]") {
  const Job job;
  const auto flags =
      GENERATE(std::vector<std::string>{"--ranks", "0,2"}, std::vector<std::string>{"--no-such-flag"},
               std::vector<std::string>{"--set", "train.stepz=3"});
  Program run(job.command(flags), job.env(""), job.dir.path());
  CHECK(run.wait() == 2);
  CHECK_FALSE(std::filesystem::exists(job.dir.path() / "runs"));
}

TEST_CASE("several shown ranks are told apart", "[fault]") {
  const Job job;
  Program run(job.command({"--ranks", "0,1"}), job.env("rank1:exit=5@3"), job.dir.path());
  CHECK(run.wait() == 1);
  CHECK_THAT(run.err(), Catch::Contains("[r1] toy: giving up") && Catch::Contains("[r0] step"));
}

}  // namespace trainctl::test
