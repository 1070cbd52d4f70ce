#include <catch2/catch.hpp>

#include "job_text.h"

using namespace trainctl::spec;  // NOLINT: the tests speak the namespace's words

TEST_CASE("0 and false are real values", "[spec]") {
  const JobSpec job = load_text(kMlp +
                                "seed: 0\ndata: {shuffle: false, num_workers: 0}\n"
                                "optimizer: {weight_decay: 0, clip_norm: 0}\nschedule: {min_lr: 0}\n")
                          .spec;
  CHECK_FALSE(job.data.shuffle);
  CHECK(job.data.num_workers == 0);
  CHECK(job.optimizer.weight_decay == 0);
  CHECK(job.optimizer.clip_norm == 0);
  CHECK(job.schedule.min_lr == 0.0);
}

TEST_CASE("a text stays a text", "[spec]") {
  CHECK(load_text(kMlp + "name: no\n").spec.name == "no");
  CHECK(load_text(kMlp + "name: 010\n").spec.name == "010");
  CHECK(load_text(kMlp + "name: \"1e3\"\n").spec.name == "1e3");
  CHECK(load_text(kMlp + "name: true\n").spec.name == "true");
}

TEST_CASE("numbers of all forms reach their keys", "[spec]") {
  const JobSpec job = load_text(kMlp + "train: {steps: 1e3, micro_batch: 1_6}\noptimizer: {lr: 1e-4}\n").spec;
  CHECK(job.train.steps == 1000);
  CHECK(job.train.micro_batch == 16);
  CHECK(job.optimizer.lr == 1e-4);
}

TEST_CASE("values of a wrong type are refused with key, place and what is expected", "[spec]") {
  const auto error = [](const std::string& text) { return errors_of(kMlp + text); };
  CHECK(has(error("optimizer: {lr: \"1e-4\"}\n"),
            "job.yaml:2:17: error: `optimizer.lr` is the quoted text \"1e-4\", expected a number"));
  CHECK(has(error("train: {steps: 010}\n"), "write 10"));
  CHECK(has(error("train: {steps: 1.5}\n"), "`train.steps` is `1.5`, expected an integer"));
  CHECK(has(error("data: {shuffle: no}\n"), "`data.shuffle` is `no`, expected true or false"));
  CHECK(has(error("data: {shuffle: 'no'}\n"), "remove the quotes"));
  CHECK(has(error("optimizer: {kind: ~}\n"), "`optimizer.kind` has no value"));
  CHECK(has(error("optimizer:\n  lr:\n  eps: 1e-8\n"), "job.yaml:3:3: error: `optimizer.lr` has no value"));
  CHECK(has(error("optimizer: ~\n"), "section `optimizer` is empty"));
  CHECK(has(error("optimizer: 3\n"), "section `optimizer` must be a map of keys"));
  CHECK(has(error("optimizer: {kind: adam}\n"), "did you mean `adamw`?"));
  CHECK(has(error("optimizer: {lr: [1]}\n"), "is a list, expected a number"));
  CHECK(has(error("optimizer: {lr: {a: 1}}\n"), "is a map, expected a number"));
  CHECK(has(error("optimizer: {lr: 0}\n"), "must be greater than 0"));
  CHECK(has(error("optimizer: {beta1: 1}\n"), "must be 0 or more, below 1"));
  CHECK(has(error("optimizer: {lr: .inf}\n"), "expected a finite number"));
  CHECK(has(error("name: a/b\n"), "cannot name a folder"));
  CHECK(has(error("name: \"\"\n"), "is an empty text"));
  CHECK(has(error("name: \"a\\nb\"\n"), "control characters"));
  CHECK(has(errors_of("model: {family: mlp, layer_sizes: 3}\n"),
            "is a single value, expected a list of integers"));
  CHECK(has(errors_of("model: {family: mlp, layer_sizes: [3, x]}\n"), "is `x`, expected an integer"));
  CHECK(has(errors_of("model: {family: mlp, layer_sizes: []}\n"), "is an empty list"));
  CHECK(has(errors_of("model: {family: mlp, layer_sizes: [3, 0]}\n"), "must be 1 or more"));
}

TEST_CASE("unknown keys name the nearest", "[spec]") {
  const auto error = [](const std::string& text) { return errors_of(kMlp + text); };
  CHECK(has(error("train: {learning-rate: 1}\n"), "unknown key `train.learning-rate`"));
  CHECK(has(error("train: {learning-rate: 1}\n"), "did you mean `optimizer.lr`?"));
  CHECK(has(error("train: {num-epochs: 1}\n"), "did you mean `train.steps`? (it counts optimizer steps)"));
  CHECK(has(error("train: {batch_size: 1}\n"), "did you mean `train.micro_batch`?"));
  CHECK(has(error("optimizer: {lrr: 1}\n"), "did you mean `optimizer.lr`?"));
  CHECK(has(error("optimizer: {weight-decay: 1}\n"), "did you mean `optimizer.weight_decay`?"));
  CHECK(has(error("train: {weight_decay: 1}\n"), "did you mean `optimizer.weight_decay`?"));
  CHECK(has(error("optimiser: {lr: 1}\n"), "did you mean `optimizer`?"));
  CHECK(has(error("optim: {lr: 1}\n"), "did you mean `optimizer`?"));
  CHECK(has(error("optimizer.lr: 1\n"), "write `optimizer:` on a line of its own"));
  CHECK(has(error("qqqq: 1\n"), "`trainctl schema` lists all keys"));
  std::string long_key(900, 'k');
  long_key += ": 1\n";
  CHECK(has(error(long_key), "unknown key"));
}

TEST_CASE("all mistakes are found at once and in the order of the lines", "[spec]") {
  const std::string text =
      "seed: 010\nbogus: 1\nmodel: {preset: mlp-toy}\ntrain:\n  steps: x\n  steps: 1\noptimizer: {lr: -1}\n";
  const std::string errors = errors_of(text, {"nope=1"});
  CHECK(num_errors(text, {"nope=1"}) == 6);
  size_t last = 0;
  for (const char* place :
       {"job.yaml:1:7", "job.yaml:2:1", "job.yaml:5:10", "job.yaml:6:3", "job.yaml:7:17", "--set #1"}) {
    CAPTURE(place, errors);
    const size_t at = errors.find(place);
    REQUIRE(at != std::string::npos);
    CHECK(at >= last);
    last = at;
  }
}

TEST_CASE("a flood of mistakes is cut short", "[spec]") {
  std::string text{kMlp};
  for (int i = 0; i < 20'000; ++i) text += "key_" + std::to_string(i) + ": 1\n";
  const std::string errors = errors_of(text);
  CHECK(num_errors(text) == 51);
  CHECK(has(errors, "19950 more mistakes are not shown"));
}
