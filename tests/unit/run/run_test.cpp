// What control and workers share: trials, results and errors as files, the environment, the run folder.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "run/run_dir.h"
#include "run/trial.h"
#include "run/worker_env.h"
#include "support/files.h"
#include "support/temp_dir.h"
#include "util/diagnostic.h"

namespace trainctl::run {

using test::TempDir;

TEST_CASE("a result reads back with every bit", "[run]") {
  const TempDir dir;
  TrialResult result{.status = TrialResult::Status::kStopped, .message = "a \"quoted\" line\nand another"};
  result.first_loss = 0.1 + 0.2;  // not a short decimal
  result.final_loss = std::numeric_limits<double>::quiet_NaN();
  result.eval_loss = -std::numeric_limits<double>::infinity();
  result.step.mfu = 0.43;
  result.num_parameters = (int64_t{1} << 53) + 1;  // no double holds it
  result.ranks = {{.rank = 0, .peak_rss_mb = 412.5}, {.rank = 1, .peak_device_mb = 3}};
  write_result(result, dir.path());
  const TrialResult back = read_result(dir.path()).value();
  CHECK(back.status == TrialResult::Status::kStopped);
  CHECK(back.message == result.message);
  CHECK(back.first_loss == result.first_loss);
  CHECK(std::isnan(back.final_loss));
  CHECK(back.eval_loss == result.eval_loss);
  CHECK_FALSE(back.eval_loss_before.has_value());
  CHECK(back.step.mfu == result.step.mfu);
  CHECK(back.num_parameters == result.num_parameters);
  REQUIRE(back.ranks.size() == 2);
  CHECK(back.ranks[0].peak_rss_mb == 412.5);
  CHECK_FALSE(back.ranks[0].peak_device_mb.has_value());
  CHECK(back.ranks[1].peak_device_mb == 3.0);
}

TEST_CASE("a missing result is none and a broken one names file and line", "[run]") {
  const TempDir dir;
  CHECK_FALSE(read_result(dir.path()).has_value());
  test::write_file(dir / "result.json", "{\n  \"status\": \"done\",\n  oops\n}");
  CHECK_THROWS_WITH(read_result(dir.path()),
                    Catch::Contains("result.json:3") && Catch::Contains("broken JSON"));
  test::write_file(dir / "result.json", "{\"status\": \"finished\"}");
  CHECK_THROWS_WITH(read_result(dir.path()), Catch::Contains("`status` is `finished`"));
  test::write_file(dir / "result.json", "{\"status\": \"done\", \"steps\": \"many\"}");
  CHECK_THROWS_AS(read_result(dir.path()), UserError);
}

TEST_CASE("a reader takes results of another version", "[run]") {
  const TempDir dir;
  test::write_file(dir / "result.json", "{\"status\": \"done\", \"steps\": 7, \"of_the_future\": [1, 2]}");
  const TrialResult result = read_result(dir.path()).value();
  CHECK(result.steps == 7);
  CHECK(result.unit == "tokens");  // not in the file: the default
}

TEST_CASE("a trial reads back", "[run]") {
  const TempDir dir;
  Trial trial{.name = "train", .dir = dir.path(), .warmup_steps = 3, .save_weights = true, .weights = "w"};
  trial.spec.model.family = spec::ModelFamily::kMlp;
  trial.spec.model.layer_sizes = {4, 3, 2};
  trial.spec.launch.nproc_per_node = 2;
  trial.spec.optimizer.lr = 0.1 + 0.2;
  write_trial(trial);
  const Trial back = read_trial(dir.path());
  CHECK(back.name == "train");
  CHECK(back.dir == dir.path());
  CHECK(back.warmup_steps == 3);
  CHECK(back.save_weights);
  CHECK_FALSE(back.evaluate);
  CHECK(back.weights == "w");
  CHECK(back.spec.launch.nproc_per_node == 2);
  CHECK(back.spec.optimizer.lr == trial.spec.optimizer.lr);
  CHECK_THROWS_AS(read_trial(dir / "nowhere"), UserError);
}

TEST_CASE("worker errors come out earliest first", "[run]") {
  const TempDir dir;
  CHECK(read_worker_errors(dir.path()).empty());
  CHECK(read_worker_errors(dir / "nowhere").empty());
  write_worker_error({.rank = 1, .kind = "infra", .what = "peer silent", .monotonic_ns = 200}, dir.path());
  write_worker_error(
      {.rank = 7, .step = 12, .kind = "not_finite", .what = "loss is nan", .monotonic_ns = 100}, dir.path());
  const auto errors = read_worker_errors(dir.path());
  REQUIRE(errors.size() == 2);
  CHECK(errors[0].rank == 7);
  CHECK(errors[0].step == 12);
  CHECK(errors[0].what == "loss is nan");
  CHECK(errors[1].kind == "infra");
}

TEST_CASE("a worker reads the environment that the launcher writes", "[run]") {
  const WorkerEnv env{.rank = 3,
                      .local_rank = 1,
                      .world_size = 4,
                      .local_world_size = 2,
                      .master_port = 1234,
                      .store_fd = 9,
                      .attempt = 2,
                      .attempt_dir = "some where/attempt-2",
                      .exec_ns = 1LL << 60};
  auto variables = to_environment(env);
  for (auto& variable : variables) ::putenv(variable.data());
  const WorkerEnv back = worker_env_from_process();
  CHECK(back.rank == 3);
  CHECK(back.local_rank == 1);
  CHECK(back.world_size == 4);
  CHECK(back.local_world_size == 2);
  CHECK(back.master_addr == "127.0.0.1");
  CHECK(back.master_port == 1234);
  CHECK(back.store_fd == 9);
  CHECK(back.attempt == 2);
  CHECK(back.attempt_dir == env.attempt_dir);
  CHECK(back.exec_ns == env.exec_ns);

  ::unsetenv("MASTER_ADDR");
  ::setenv("WORLD_SIZE", "4x", 1);
  CHECK_THROWS_WITH(worker_env_from_process(),
                    Catch::Contains("MASTER_ADDR is not set") && Catch::Contains("WORLD_SIZE is `4x`"));
  ::setenv("MASTER_ADDR", "127.0.0.1", 1);
  ::setenv("WORLD_SIZE", "3", 1);
  CHECK_THROWS_WITH(worker_env_from_process(), Catch::Contains("RANK is 3"));
  for (const auto& variable : variables) ::unsetenv(variable.substr(0, variable.find('=')).c_str());
}

TEST_CASE("a run folder is refused or numbered but never shared", "[run]") {
  const TempDir dir;
  const auto wanted = dir / "runs" / "x";
  CHECK(create_run_dir(wanted, IfExists::kRefuse).root == wanted);
  CHECK(std::filesystem::is_directory(wanted / "trials"));
  test::write_file(wanted / "report.json", "mine");
  CHECK_THROWS_WITH(create_run_dir(wanted, IfExists::kRefuse),
                    Catch::Contains("exists already") && Catch::Contains("--new"));
  CHECK(create_run_dir(wanted, IfExists::kNumber).root == wanted.string() + "-2");
  CHECK(create_run_dir(wanted.string() + "/", IfExists::kNumber).root == wanted.string() + "-3");
  CHECK(test::read_file(wanted / "report.json") == "mine");
  test::write_file(dir / "file", "");
  CHECK_THROWS_AS(create_run_dir(dir / "file" / "x", IfExists::kRefuse), InfraError);
}

}  // namespace trainctl::run
