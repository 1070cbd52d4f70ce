#include "data/audit.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "unit/data/files.h"

using namespace trainctl;  // NOLINT: a test
using data::Folder;
using spec::AuditLevel;
using spec::DataFormat;

namespace {

std::string findings(const spec::JobSpec& job, AuditLevel level = AuditLevel::kFull) {
  std::string text;
  for (const auto& d : data::audit(job, level).diagnostics) text += render(d);
  return text;
}

bool says(const std::string& text, const std::string& part) {
  INFO(text);
  INFO(part);
  CHECK(text.find(part) != std::string::npos);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("sound data passes and is counted", "[audit]") {
  const Folder folder;
  const auto job =
      data::token_job(DataFormat::kTokensU16, {folder.write("a.bin", data::ramp<uint16_t>(4001, 1000))});
  for (const auto level : {AuditLevel::kSampled, AuditLevel::kFull}) {
    const auto report = data::audit(job, level);
    CHECK(report.ok());
    CHECK(report.diagnostics.empty());
    CHECK(report.num_tokens == 4001);
    CHECK(report.train_samples == 500);
    CHECK(report.size_bytes == 8002);
  }
  CHECK(data::audit(job, AuditLevel::kFull).checked_bytes == 8002);
}

TEST_CASE("a raw file cut by one byte names its size and the last whole token", "[audit]") {
  const Folder folder;
  auto bytes = Folder::bytes_of(data::ramp<uint32_t>(100, 1000));
  bytes.pop_back();
  const auto text =
      findings(data::token_job(DataFormat::kTokensU32, {folder.write("a.bin", bytes)}), AuditLevel::kOff);
  says(text, "a.bin: error: is 399 bytes, not a multiple of the 4 bytes of a token (expected 396 or 400)");
  says(text, "the last whole token is number 98, bytes 392 to 395");
}

TEST_CASE("a file of llm.c cut by a byte or a token or a page says what its header expects", "[audit]") {
  const Folder folder;
  const auto whole = data::llmc_bytes(data::ramp<uint16_t>(5000, 1000), 20240520, 1);
  for (const size_t cut : {1, 2, 4096}) {
    const auto path = folder.write("a.bin", whole.substr(0, whole.size() - cut));
    const auto text = findings(data::token_job(DataFormat::kLlmc, {path}));
    says(text, "is " + std::to_string(11024 - cut) +
                   " bytes, but its header says 5000 tokens of 2 bytes: expected 11024 bytes");
    says(text, "the last whole token is number " + std::to_string((11024 - cut - 1024) / 2 - 1));
  }
}

TEST_CASE("a Megatron pair that does not fit together is refused", "[audit]") {
  const Folder folder;
  const auto job = data::token_job(DataFormat::kMegatron, {folder.path("x.idx")});
  const auto tokens = Folder::bytes_of(data::ramp<uint16_t>(40, 1000));
  const auto index = data::megatron_index({30, 10}, 8, 2);
  folder.write("x.idx", index);
  folder.write("x.bin", tokens.substr(0, 78));
  says(findings(job),
       "x.bin: error: is 78 bytes, but its index says 2 sequences of 2-byte tokens: expected 80 bytes");
  folder.write("x.bin", tokens);
  CHECK(findings(job).empty());
  folder.write("x.idx", index.substr(0, 50));
  says(findings(job), "is 50 bytes, too short for the 2 sequences and 3 document borders");
  auto float_dtype = index;
  float_dtype[17] = 7;
  folder.write("x.idx", float_dtype);
  says(findings(job), "has dtype code 7");
  auto shifted = index;
  shifted[34 + 8] = 2;  // sequence 0 claims to begin at byte 2
  folder.write("x.idx", shifted);
  says(findings(job, AuditLevel::kFull), "sequence 0 has 30 tokens at byte 2, expected at byte 0");
  std::filesystem::remove(folder.path("x.bin"));
  says(findings(job), "cannot open");
}

TEST_CASE("a uint32 file read as uint16 is recognised", "[audit]") {
  const Folder folder;
  const auto path = folder.write("a.bin", data::ramp<uint32_t>(3000, 500));
  for (const auto level : {AuditLevel::kSampled, AuditLevel::kFull}) {
    says(findings(data::token_job(DataFormat::kTokensU16, {path}), level), "a.bin: error: looks like uint32");
  }
  CHECK(findings(data::token_job(DataFormat::kTokensU32, {path})).empty());
  // ids above 65,535 too: most upper halves are still zero
  auto mixed = data::ramp<uint32_t>(3000, 128'000);
  for (size_t i = 0; i < mixed.size(); i += 3) mixed[i] += 65'536;
  says(findings(data::token_job(DataFormat::kTokensU16, {folder.write("b.bin", mixed)})),
       "looks like uint32");
  // nothing but zeros is no sign of it
  CHECK(
      findings(data::token_job(DataFormat::kTokensU16, {folder.write("c.bin", std::vector<uint16_t>(3000))}))
          .empty());
}

TEST_CASE("a vocabulary that does not fit into the file's dtype is refused", "[audit]") {
  const Folder folder;
  const auto path = folder.write("a.bin", data::ramp<uint16_t>(3000, 60'000));
  says(findings(data::token_job(DataFormat::kTokensU16, {path}, 128'256)),
       "too small for ids of a vocabulary of 128256");
  CHECK(findings(data::token_job(DataFormat::kTokensU16, {path}, 65'536)).empty());
}

TEST_CASE("one token at the vocabulary is found with file and offset and id", "[audit]") {
  const Folder folder;
  auto tokens = data::ramp<uint16_t>(3'000'000, 1000);
  tokens[2'345'678] = 1000;
  const auto raw = folder.write("raw.bin", tokens);
  says(findings(data::token_job(DataFormat::kTokensU16, {raw})),
       "raw.bin: error: token 2345678 at byte 4691356 has id 1000, but the model's vocabulary is 1000");
  const auto llmc = folder.write("llmc.bin", data::llmc_bytes(tokens, 20240520, 1));
  says(findings(data::token_job(DataFormat::kLlmc, {llmc})), "token 2345678 at byte 4692380 has id 1000");
  tokens[2'999'999] = 1001;  // in the last page: found by sampling too
  says(findings(data::token_job(DataFormat::kTokensU16, {folder.write("raw.bin", tokens)}),
                AuditLevel::kSampled),
       "token 2999999 at byte 5999998 has id 1001");
}

TEST_CASE("the sampled audit of many large files ends within its time", "[audit]") {
  const Folder folder;
  for (int i = 0; i < 50; ++i) {
    folder.write("shard-" + std::to_string(i), std::string());
    std::filesystem::resize_file(folder.path("shard-" + std::to_string(i)), uint64_t{1} << 34);  // holes
  }
  const auto report =
      data::audit(data::token_job(DataFormat::kTokensU16, {folder.path("")}), AuditLevel::kSampled);
  CHECK(report.ok());
  CHECK(report.num_tokens == uint64_t{50} << 33);
  CHECK(report.checked_bytes >= 4096);
  CHECK(report.checked_bytes <= (50 * 2 + 256) * 4096);  // bounded work, whatever the machine's speed
}

TEST_CASE("empty and too small shards are skipped with a warning", "[audit]") {
  const Folder folder;
  folder.write("a.bin", std::string());
  folder.write("b.bin", data::ramp<uint16_t>(8, 1000));  // a sample needs 9
  folder.write("c.bin", data::ramp<uint16_t>(33, 1000));
  const auto report =
      data::audit(data::token_job(DataFormat::kTokensU16, {folder.path("*.bin")}), AuditLevel::kSampled);
  CHECK(report.ok());
  CHECK(report.num_skipped == 2);
  CHECK(report.train_samples == 4);
  REQUIRE(report.diagnostics.size() == 2);
  says(render(report.diagnostics[0]), "a.bin: warning: is empty: skipped");
  says(render(report.diagnostics[1]),
       "b.bin: warning: has 8 tokens, fewer than the 9 of one sample: skipped");
  const auto none = data::token_job(DataFormat::kTokensU16, {folder.path("a.bin"), folder.path("b.bin")});
  says(findings(none), "error: `data.train` holds no whole sample");
  const auto empty = folder.write("d.bin", data::llmc_bytes(std::vector<uint16_t>{}, 20240520, 1));
  says(findings(data::token_job(DataFormat::kLlmc, {empty})), "d.bin: warning: is empty: skipped");
}

TEST_CASE("fewer samples than one micro-batch on all ranks is an error unless they repeat", "[audit]") {
  const Folder folder;
  auto job = data::token_job(DataFormat::kTokensU16,
                             {folder.write("a.bin", data::ramp<uint16_t>(41, 1000))});  // 5 samples
  job.launch.nproc_per_node = 3;                                                        // of 2 each
  says(findings(job),
       "error: an epoch of 5 samples is less than one micro-batch of 2 on each of 3 processes");
  job.data.shuffle = false;
  says(findings(job),
       "warning: an epoch of 5 samples is less than one micro-batch of 2 on each of 3 processes");
  job.launch.nproc_per_node = 2;
  CHECK(findings(job).empty());
}

TEST_CASE("a label at the number of classes is found", "[audit]") {
  const Folder folder;
  std::vector<uint8_t> rows(5 * 3073, 9);
  rows[3 * 3073] = 10;
  const auto path = folder.write("a.bin", rows);
  says(findings(data::image_job(DataFormat::kCifar10, {path}, {3072, 10})),
       "image 3 has label 10 (byte 9219), but the model has 10 classes");
  rows.pop_back();
  folder.write("a.bin", rows);
  says(findings(data::image_job(DataFormat::kCifar10, {path}, {3072, 10})),
       "not a multiple of the 3073 bytes of a CIFAR-10 row");
  folder.write("i", data::idx_bytes({3, 2, 2}, std::string(12, 'x')));
  folder.write("l", data::idx_bytes({2}, std::string("\1\2")));
  says(findings(data::image_job(DataFormat::kIdx, {folder.path("i"), folder.path("l")}, {4, 10})),
       "holds 3 images, but");
}

TEST_CASE("all faults of all files are reported at once", "[audit]") {
  const Folder folder;
  folder.write("a.bin", std::string("odd"));
  folder.write("b.bin", data::llmc_bytes(data::ramp<uint16_t>(20, 1000), 20240520, 1));
  folder.write("c.bin", std::vector<uint16_t>(20, 5000));
  const auto text =
      findings(data::token_job(DataFormat::kTokensU16, {folder.path("*.bin"), folder.path("missing")}));
  says(text, "a.bin: error: is 3 bytes");
  says(text, "b.bin: error: starts with llm.c's header");
  says(text, "c.bin: error: token 0 at byte 0 has id 5000");
  says(text, "missing names no file");
}
