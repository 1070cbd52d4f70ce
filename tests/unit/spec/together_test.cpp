// What must hold between keys.  Each row is a job with one contradiction and a part of the message it must
// give.
#include <catch2/catch.hpp>

#include "job_text.h"

using namespace trainctl::spec;  // NOLINT: the tests speak the namespace's words

namespace {

struct Contradiction {
  std::string text, message;
};

}  // namespace

TEST_CASE("contradictions between keys are found before anything starts", "[spec]") {
  const std::string &gpt2 = kGpt2, &resnet = kResnet, &mlp = kMlp;
  const std::string here = __FILE__;
  const Contradiction rows[] = {
      {gpt2 + "data: {seq_len: 65}\n", "`data.seq_len` is 65, above `model.max_seq_len` 64"},
      {"model: {preset: gpt2-tiny, num_heads: 5}\n",
       "`model.num_heads` is 5, which does not divide `model.dim` 64"},
      {"model: {preset: llama-tiny, num_kv_heads: 3}\n",
       "`model.num_kv_heads` is 3, which does not divide `model.num_heads` 4"},
      {"model: {preset: llama-tiny, dim: 12}\n", "a head is 3 wide; rotary positions need an even width"},
      {"model: {preset: llama3.1-8b, rope_low_freq_factor: 4}\n",
       "is not below `model.rope_high_freq_factor` 4"},
      {"model: {preset: gpt2-tiny, vocab_size: 128256}\ndata: {format: tokens_u16, train: " + here + "}\n",
       "tokens_u16 holds tokens up to 65535, and `model.vocab_size` is 128256"},
      {gpt2 + "data: {format: text, train: " + here + "}\n",
       "`data.format` is text, and `tokenizer.kind` is none"},
      {"model: {preset: gpt2-tiny, vocab_size: 255}\ntokenizer: {kind: bytes}\n",
       "`model.vocab_size` is 255, and the bytes tokenizer makes 256"},
      {gpt2 + "tokenizer: {kind: hugging_face}\n", "`tokenizer.path` is missing"},
      {resnet + "tokenizer: {kind: bytes}\n", "a resnet model reads no text"},
      {gpt2 + "data: {format: cifar10, train: " + here + "}\n",
       "holds images, and a gpt2 model takes tokens"},
      {mlp + "data: {format: tokens_u32, train: " + here + "}\n", "holds tokens, and a mlp model takes none"},
      {mlp + "data: {format: cifar10, train: " + here + "}\n", "CIFAR-10 has 3072 inputs and 10 classes"},
      {"model: {preset: resnet18}\ndata: {format: cifar10, train: " + here + "}\n",
       "CIFAR-10's images are 32 x 32"},
      {gpt2 + "data: {format: tokens_u16}\n", "`data.train` names no files"},
      {gpt2 + "data: {format: tokens_u16, train: " + here + ", eval: " + here + ", holdout: 0.1}\n",
       "both say what is held out"},
      {mlp + "optimizer: {kind: sgd, nesterov: true}\n", "`optimizer.momentum` is 0"},
      {mlp + "train: {steps: 10}\nschedule: {warmup_steps: 10}\n", "leaves none of the 10 steps"},
      {mlp + "train: {steps: 10}\nschedule: {kind: constant, warmup_steps: 10}\n",
       "leaves none of the 10 steps"},
      {mlp + "optimizer: {lr: 1e-3}\nschedule: {min_lr: 1e-2}\n",
       "`schedule.min_lr` is 0.01, above the peak `optimizer.lr` 0.001"},
      {mlp + "schedule: {kind: wsd, warmup_steps: 60, decay_share: 0.5}\n", "overlap"},
      {mlp + "launch: {nproc_per_node: 2}\nparallel: {strategy: none}\n",
       "`parallel.strategy` is none, and `launch.nproc_per_node` is 2"},
      {"model: {family: resnet, depth: 34, num_classes: 10}\n", "`model.depth` is 34, which is not built"},
      {"model: {family: mlp, layer_sizes: [3]}\n", "needs at least the inputs and the classes"},
  };
  for (const auto& [text, message] : rows) {
    CAPTURE(text, message);
    const std::string errors = errors_of(text);
    CAPTURE(errors);
    CHECK(has(errors, message));
    CHECK(num_errors(text) == 1);
  }
}

TEST_CASE("keys that have no effect beside the others are refused", "[spec]") {
  const Contradiction rows[] = {
      {"model: {preset: resnet18, num_kv_heads: 2}\n", "it belongs to model.family: llama"},
      {"model: {preset: gpt2-tiny, num_kv_heads: 2}\n",
       "change `model.family`, which is gpt2 (preset gpt2-tiny)"},
      {"model: {preset: llama-tiny, rope_factor: 2}\n", "it belongs to model.rope_scaling: llama3.1"},
      {kMlp + "data: {seq_len: 3}\n", "it belongs to model.family: gpt2 or llama"},
      {kMlp + "data: {train: /}\n", "it belongs to data.format other than synthetic"},
      {kMlp + "data: {num_workers: 0, prefetch: 3}\n", "it belongs to data.num_workers above 0"},
      {kMlp + "optimizer: {momentum: 0.9}\n", "it belongs to optimizer.kind: sgd"},
      {kMlp + "optimizer: {kind: sgd, beta1: 0.9}\n", "change `optimizer.kind`, which is sgd (job.yaml:2)"},
      {kMlp + "optimizer: {max_skipped: 3}\n", "it belongs to optimizer.on_nonfinite: skip"},
      {kMlp + "schedule: {decay_share: 0.1}\n", "it belongs to schedule.kind: wsd"},
      {kMlp + "schedule: {kind: constant, min_lr: 0}\n", "it belongs to schedule.kind other than constant"},
      {kMlp + "parallel: {strategy: none, bucket_mb: 1}\n",
       "it belongs to parallel.strategy other than none"},
      {kMlp + "eval: {every: 5}\n", "it belongs to data.eval or data.holdout given"},
      {kGpt2 + "tokenizer: {kind: bytes, path: /}\n",
       "it belongs to tokenizer.kind: sentencepiece or hugging_face"},
  };
  for (const auto& [text, message] : rows) {
    CAPTURE(text, message);
    const std::string errors = errors_of(text);
    CAPTURE(errors);
    CHECK(has(errors, message));
    CHECK(num_errors(text) == 1);
  }
}

TEST_CASE("a contradiction names where both values come from", "[spec]") {
  const std::string errors = errors_of(kGpt2 + "launch:\n  nproc_per_node: 2\nparallel:\n  strategy: none\n");
  CHECK(has(errors, "job.yaml:5:13: error: `parallel.strategy` is none"));
  CHECK(has(errors, "(`launch.nproc_per_node`: job.yaml:3)"));
  CHECK(has(errors_of(kGpt2, {"data.seq_len=100"}), "--set #1: error: `data.seq_len` is 100"));
}

TEST_CASE("a value that cannot be read causes no second mistake", "[spec]") {
  CHECK(num_errors("model: {family: gtp2, dim: 64}\n") == 1);
  CHECK(num_errors("model: {preset: gpt2-tinyy, num_heads: 4}\n") == 1);
  CHECK(num_errors(kMlp + "optimizer: {kind: sdg, momentum: 0.9}\n") == 1);
  CHECK(num_errors(kMlp + "train: {steps: many}\nschedule: {warmup_steps: 500}\n") == 1);
  CHECK(num_errors(kGpt2 + "data: {format: tokens_u61, train: /}\n") == 1);
}

TEST_CASE("autos that need no hardware are resolved", "[spec]") {
  const JobSpec job =
      load_text(kGpt2 + "data: {holdout: 0.1}\noptimizer: {lr: 0.5}\ntrain: {steps: 7, micro_batch: 3}\n")
          .spec;
  CHECK(job.data.seq_len == 64);
  CHECK(job.schedule.total_steps == 7);
  CHECK(job.schedule.min_lr == 0.05);
  CHECK(job.eval.micro_batch == 3);
  CHECK_FALSE(job.launch.threads.has_value());
  CHECK_FALSE(job.metrics.peak_tflops.has_value());
}
