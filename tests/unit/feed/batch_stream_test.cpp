#include "feed/batch_stream.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <set>

#include "data/splitmix.h"
#include "unit/data/files.h"
#include "util/diagnostic.h"

using namespace trainctl;  // NOLINT: a test
using data::splitmix64;
using spec::DataFormat;

namespace {

spec::JobSpec synthetic_tokens() {
  auto job = data::token_job(DataFormat::kSynthetic, {}, 256, 64);
  job.data.shuffle = false;
  job.train.micro_batch = 3;
  job.train.accumulate = 2;
  return job;
}

/// First tokens of all rows that one rank reads in `steps` steps: they name the windows.
std::vector<int64_t> firsts(const spec::JobSpec& job, int rank, int world_size, int64_t first_step,
                            int64_t steps) {
  const auto stream = feed::open_training(job, rank, world_size, first_step, at::kCPU);
  std::vector<int64_t> list;
  for (int64_t k = 0; k < steps * job.train.accumulate; ++k) {
    const auto batch = stream->next();
    for (int64_t b = 0; b < job.train.micro_batch; ++b) list.push_back(batch.input[b][0].item<int64_t>());
  }
  return list;
}

}  // namespace

TEST_CASE("unshuffled batches follow the batch rule token by token", "[feed]") {
  auto job = synthetic_tokens();
  const int64_t windows = ((1 << 20) - 1) / 64;
  const int64_t first_step = windows / (2 * 2 * 3) - 1;  // so that the windows wrap around on the way
  for (int rank = 0; rank < 2; ++rank) {
    const auto stream = feed::open_training(job, rank, 2, first_step, at::kCPU);
    for (int64_t k = first_step * 2; k < first_step * 2 + 6; ++k) {
      const auto batch = stream->next();
      REQUIRE(batch.input.sizes() == at::IntArrayRef({3, 64}));
      CHECK(batch.num_targets == 3 * 64);
      CHECK(batch.first_sample == (k * 2 + rank) * 3);
      for (int64_t b = 0; b < 3; ++b) {
        const int64_t w = ((k * 2 + rank) * 3 + b) % windows;
        for (int64_t t = 0; t < 64; ++t) {
          REQUIRE(batch.input[b][t].item<int64_t>() ==
                  static_cast<int64_t>(splitmix64(static_cast<uint64_t>(w * 64 + t)) % 256));
          REQUIRE(batch.target[b][t].item<int64_t>() ==
                  static_cast<int64_t>(splitmix64(static_cast<uint64_t>(w * 64 + t + 1)) % 256));
        }
      }
    }
  }
}

TEST_CASE("features have the shape that the model takes", "[feed]") {
  spec::JobSpec job;
  job.model.family = spec::ModelFamily::kResnet;
  job.model.image_size = 8, job.model.num_classes = 10;
  job.data.shuffle = false;
  job.train.micro_batch = 2;
  auto batch = feed::open_training(job, 0, 1, 0, at::kCPU)->next();
  CHECK(batch.input.sizes() == at::IntArrayRef({2, 3, 8, 8}));
  CHECK(batch.input[1][0][0][1].item<float>() ==
        static_cast<float>(splitmix64(3 * 64 + 1) >> 40U) / 8388608.0F - 1.0F);
  CHECK(batch.target.sizes() == at::IntArrayRef({2}));
  CHECK(batch.target[1].item<int64_t>() == static_cast<int64_t>(splitmix64((uint64_t{1} << 40U) + 1) % 10));
  job.model.family = spec::ModelFamily::kMlp;
  job.model.layer_sizes = {64, 10};
  CHECK(feed::open_training(job, 0, 1, 0, at::kCPU)->next().input.sizes() == at::IntArrayRef({2, 64}));
}

TEST_CASE("a resumed run with other ranks and workers reads the same samples over two epoch borders",
          "[feed]") {
  const data::Folder folder;
  std::vector<uint16_t> tokens;  // 30 windows of 4, each beginning with its number
  for (uint16_t w = 0; w < 30; ++w) tokens.insert(tokens.end(), {w, 500, 500, 500});
  tokens.push_back(500);
  auto job = data::token_job(DataFormat::kTokensU16, {folder.write("a.bin", tokens)}, 1000, 4);
  job.seed = 5;
  const auto whole = firsts(job, 0, 1, 0, 36);  // 2 a step: 72 samples, borders at 30 and 60
  CHECK(std::set<int64_t>(whole.begin(), whole.begin() + 30).size() == 30);
  CHECK(std::set<int64_t>(whole.begin() + 30, whole.begin() + 60).size() == 30);
  CHECK(std::vector<int64_t>(whole.begin(), whole.begin() + 30) !=
        std::vector<int64_t>(whole.begin() + 30, whole.begin() + 60));
  for (const int64_t workers : {0, 1, 3}) {
    job.data.num_workers = workers;
    std::vector<int64_t> ranks[3];
    for (int r = 0; r < 3; ++r) ranks[r] = firsts(job, r, 3, 7, 5);  // 6 a step, from sample 42 on
    std::vector<int64_t> joined(whole.begin(), whole.begin() + 42);
    for (size_t k = 0; k < 5; ++k) {
      for (const auto& rank : ranks)
        joined.insert(joined.end(), rank.begin() + 2 * k, rank.begin() + 2 * k + 2);
    }
    CHECK(joined == whole);
  }
}

TEST_CASE("evaluation covers each held-out sample once over all ranks", "[feed]") {
  const data::Folder folder;
  std::vector<uint16_t> tokens;
  for (uint16_t w = 0; w < 20; ++w) tokens.insert(tokens.end(), {w, 500, 500, 500});
  tokens.push_back(500);
  auto job = data::token_job(DataFormat::kTokensU16, {folder.write("a.bin", tokens)}, 1000, 4);
  CHECK(feed::open_evaluation(job, 0, 1, at::kCPU) == nullptr);
  job.data.holdout = 0.35;  // 7 samples: 13 .. 19
  job.eval.micro_batch = 2;
  std::multiset<int64_t> seen;
  std::vector<int64_t> rows_of_rank_0;
  for (int rank = 0; rank < 3; ++rank) {
    const auto stream = feed::open_evaluation(job, rank, 3, at::kCPU);
    for (auto batch = stream->next(); batch.input.defined(); batch = stream->next()) {
      if (rank == 0) rows_of_rank_0.push_back(batch.input.size(0));
      for (int64_t b = 0; b < batch.input.size(0); ++b) seen.insert(batch.input[b][0].item<int64_t>());
    }
    CHECK_FALSE(stream->next().input.defined());
  }
  CHECK(seen == std::multiset<int64_t>{13, 14, 15, 16, 17, 18, 19});
  CHECK(rows_of_rank_0 == std::vector<int64_t>{2, 1});
  job.eval.max_samples = 3;
  const auto one = feed::open_evaluation(job, 0, 1, at::kCPU);
  CHECK(one->next().input.size(0) + one->next().input.size(0) == 3);
  CHECK_FALSE(one->next().input.defined());
}

TEST_CASE("ignored targets are not counted", "[feed]") {
  const data::Folder folder;
  auto job =
      data::token_job(DataFormat::kTokensU16,
                      {folder.write("a.bin", std::vector<uint16_t>{1, 0, 3, 0, 5, 6, 7, 8, 0})}, 1000, 4);
  job.data.ignore_index = 0;
  job.data.shuffle = false;
  CHECK(feed::open_training(job, 0, 1, 0, at::kCPU)->next().num_targets == 5);
}

TEST_CASE("a bad token stops the stream with its file and place", "[feed]") {
  const data::Folder folder;
  auto tokens = data::ramp<uint16_t>(65, 50);
  tokens[40] = 50;
  auto job = data::token_job(DataFormat::kTokensU16, {folder.write("a.bin", tokens)}, 50, 8);
  job.data.shuffle = false;
  const auto stream = feed::open_training(job, 0, 1, 0, at::kCPU);
  CHECK(stream->next().origin == folder.path("a.bin") + ":0");
  CHECK(stream->next().origin == folder.path("a.bin") + ":32");
  CHECK_THROWS_AS(stream->next(), UserError);
}
