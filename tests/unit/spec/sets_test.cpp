#include <catch2/catch.hpp>

#include "job_text.h"

using namespace trainctl::spec;  // NOLINT: the tests speak the namespace's words

TEST_CASE("--set is typed by the same table and wins over the file", "[spec]") {
  const std::string text = "model: {family: mlp, layer_sizes: [4, 2]}\noptimizer: {lr: 1}\n";
  const LoadedJob job = load_text(text, {"optimizer.lr=1e-3", "train.steps=1e3", "model.layer_sizes=[8, 2]",
                                         "name=a-b", "data.shuffle=false", "schedule.min_lr=auto"});
  CHECK(job.spec.optimizer.lr == 1e-3);
  CHECK(job.spec.train.steps == 1000);
  CHECK(job.spec.model.layer_sizes == std::vector<int64_t>{8, 2});
  CHECK(job.spec.name == "a-b");
  CHECK_FALSE(job.spec.data.shuffle);
  CHECK(to_string(job.origins.at("optimizer.lr")) == "--set #1");
  CHECK(job.notes.empty());
}

TEST_CASE("the last --set of a key wins, with a note", "[spec]") {
  const LoadedJob job = load_text(kMlp, {"optimizer.lr=1", "seed=1", "optimizer.lr=2"});
  CHECK(job.spec.optimizer.lr == 2);
  REQUIRE(job.notes.size() == 1);
  CHECK(render(job.notes[0]) == "--set #1: note: `optimizer.lr` is set again by --set #3, which wins\n");
}

TEST_CASE("a bad --set is named by its number", "[spec]") {
  const auto error = [](const std::string& set) { return errors_of(kMlp, {"seed=1", set}); };
  CHECK(has(error("optimizer.learning_rate=1"),
            "--set #2: error: unknown key `optimizer.learning_rate`\n  help: did you mean `optimizer.lr`?"));
  CHECK(has(error("optim.lrr=1"),
            "--set #2: error: unknown key `optim.lrr`\n  help: did you mean `optimizer.lr`?"));
  CHECK(has(error("train.steps=010"), "--set #2: error: `train.steps` is `010`"));
  CHECK(has(error("train.steps"), "--set #2: error: `train.steps` is no `key=value`"));
  CHECK(has(error("=3"), "is no `key=value`"));
  CHECK(has(error(""), "is no `key=value`"));
  CHECK(has(error("train.steps="), "`train.steps` has no value"));
  CHECK(has(error("train.steps=~"), "`train.steps` has no value"));
  CHECK(has(error("train.steps=\"3\""), "remove the quotes"));
  CHECK(has(error("train=3"), "`train` is a section, not a key"));
  CHECK(has(error("train.steps=[1"), "--set #2: error: a list `[...]` is not closed"));
  CHECK(has(error("train.steps={a: 1}"), "is a map, expected an integer"));
  CHECK(has(error("a=1,b=2"), "unknown key `a`"));
}

TEST_CASE("--set replaces a value of the file before it is checked", "[spec]") {
  const std::string text = kMlp + "train: {steps: ${TRAINCTL_TEST_UNSET}}\n";
  CHECK(has(errors_of(kMlp + "train: {steps: \"${TRAINCTL_TEST_UNSET}\"}\n"), "not set in the environment"));
  CHECK(
      load_text(kMlp + "train: {steps: \"${TRAINCTL_TEST_UNSET}\"}\n", {"train.steps=5"}).spec.train.steps ==
      5);
}
