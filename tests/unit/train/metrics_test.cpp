#include "train/metrics.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "support/temp_dir.h"
#include "train/process_memory.h"
#include "train/step_log.h"
#include "train/tensorboard.h"

using namespace trainctl::train;  // NOLINT: a test
using trainctl::test::TempDir;

TEST_CASE("a step is one JSON object with units in its keys and null for what is not known", "[train]") {
  const TempDir dir;
  MetricsWriter writer(dir.path(), "tokens", false);
  writer.write({.step = 7,
                .loss = 2.5,
                .grad_norm = std::numeric_limits<double>::infinity(),
                .lr = 3e-4,
                .step_ms = 12.5,
                .data_wait_ms = 0.25,
                .per_s = 1000,
                .rss_mb = 50,
                .mfu_measured = 0.5,
                .skipped = true});
  writer.write_evaluation(8, 2.25, 64);
  writer.write({.step = 9, .loss_scale = 32768});
  writer.flush();
  std::ifstream file(dir.path() / "metrics.jsonl");
  std::string line;
  REQUIRE(std::getline(file, line));
  const auto step = nlohmann::json::parse(line);
  CHECK(step == nlohmann::json::parse(
                    R"({"step":7,"loss":2.5,"grad_norm":null,"lr":0.0003,"step_ms":12.5,"tokens_per_s":1000.0,
      "data_wait_ms":0.25,"rss_mb":50.0,"device_mb":null,"mfu":null,"mfu_measured":0.5,"skipped":true})"));
  REQUIRE(std::getline(file, line));
  CHECK(nlohmann::json::parse(line) ==
        nlohmann::json::parse(R"({"step":8,"eval_loss":2.25,"eval_samples":64})"));
  REQUIRE(std::getline(file, line));
  CHECK(nlohmann::json::parse(line).at("loss_scale") == 32768);  // with fp16 only
}

TEST_CASE("the status line has the form that the launcher shows", "[train]") {
  const StepRecord record{
      .step = 119, .loss = 2.43121, .lr = 9.8e-4, .step_ms = 61.2, .data_wait_ms = 0.1836, .per_s = 33500};
  CHECK(status_line(record, 2000, "tokens") ==
        "step 120/2000  loss 2.4312  lr 9.8e-04  step 61.2 ms  33.5k tok/s  data 0.3 %");
}

TEST_CASE("the checksum is CRC-32C", "[train]") {
  CHECK(crc32c("123456789") == 0xe3069283u);  // RFC 3720's check value
  CHECK(crc32c("") == 0u);
}

TEST_CASE("memory is read from the kernel in MB", "[train]") {
  const double before = rss_mb();
  const std::vector<char> block(size_t{64} << 20, 1);
  CHECK(rss_mb() - before > 48);  // 64 MB touched; the allocator may have had some
  CHECK(peak_rss_mb() >= rss_mb() - 1);
  CHECK(block[5] == 1);
}

TEST_CASE("the summary leaves out the warm-up and gives rates over all of the rest", "[train]") {
  std::vector<StepRecord> records{{.step = 0, .step_ms = 1000}};
  for (int i = 1; i <= 4; ++i) records.push_back({.step = i, .step_ms = 10.0 * i, .data_wait_ms = 1});
  const auto summary =
      summarize(records, 1, {.units_per_step = 100, .flops_per_step = 1e12, .spec_tflops = 80});
  CHECK(summary.median_ms == Approx(25));
  CHECK(summary.per_s == Approx(4000));            // 4 steps of 100 in 0.1 s
  CHECK(summary.data_wait_share == Approx(0.04));  // 4 ms of 100 ms
  CHECK(*summary.mfu == Approx(0.5));              // 40 of 80 TFLOP/s
  CHECK_FALSE(summary.mfu_measured.has_value());
}
