// data_fuzz.cpp: damaged data files of every format: the audit reports them, or every sample can be read or
// is refused with an error for the user; nothing reads outside of a file (the dev preset's sanitizers watch).
// Seeded, so a failure repeats; TRAINCTL_FUZZ_ROUNDS runs longer.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <random>

#include "data/audit.h"
#include "data/open.h"
#include "unit/data/files.h"

using namespace trainctl;  // NOLINT: a test
using data::Folder;
using spec::DataFormat;

namespace {

int rounds(int otherwise) {
  const char* const given = std::getenv("TRAINCTL_FUZZ_ROUNDS");
  return given == nullptr ? otherwise : std::atoi(given);
}

std::string damaged(std::string bytes, std::mt19937_64& random) {
  for (uint64_t n = random() % 4; n > 0 && !bytes.empty(); --n) {
    // headers are small: half of the damage goes there
    const size_t at = random() % (random() % 2 == 0 ? std::min<size_t>(bytes.size(), 64) : bytes.size());
    switch (random() % 4) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes[at] = static_cast<char>(0xFF);
        break;
      case 2:
        bytes.resize(at);
        break;
      default:
        bytes.insert(at, std::string(random() % 5, '\0'));
        break;
    }
  }
  return bytes;
}

/// Returns whether the data was found to be sound.
bool try_out(const spec::JobSpec& job) {
  const auto report = data::audit(job, spec::AuditLevel::kFull);
  try {
    const auto sets = data::open_datasets(job);
    const auto numel = static_cast<size_t>(sets.train->form().input_numel());
    std::vector<int64_t> tokens(numel);
    std::vector<int64_t> targets(numel);
    std::vector<float> features(numel);
    for (int64_t i = 0; i < sets.train->num_samples(); ++i) {
      sets.train->read(i, {.tokens = tokens.data(), .features = features.data(), .targets = targets.data()});
    }
  } catch (const UserError&) {
    REQUIRE_FALSE(report.ok());  // what stops a run, the full audit has said before
    return false;
  }
  return report.ok();
}

}  // namespace

TEST_CASE("damaged files of every format are refused or read within their bounds", "[fuzz]") {
  const Folder folder;
  std::mt19937_64 random(3);
  const auto tokens16 = data::ramp<uint16_t>(100, 1000);
  const auto tokens32 = data::ramp<uint32_t>(100, 1000);
  const std::string image_rows(2 * 3073, '\1');
  int sound = 0;
  int refused = 0;
  const auto count = [&](const spec::JobSpec& job) { ++(try_out(job) ? sound : refused); };
  const auto raw = data::token_job(DataFormat::kTokensU16, {folder.path("raw")});
  const auto llmc = data::token_job(DataFormat::kLlmc, {folder.path("llmc")});
  const auto megatron = data::token_job(DataFormat::kMegatron, {folder.path("m.idx")});
  const auto cifar = data::image_job(DataFormat::kCifar10, {folder.path("cifar")}, {3072, 10});
  const auto idx = data::image_job(DataFormat::kIdx, {folder.path("i"), folder.path("l")}, {6, 10});
  for (int round = 0; round < rounds(300); ++round) {
    INFO("round " << round);
    folder.write("raw", damaged(Folder::bytes_of(tokens16), random));
    count(raw);
    folder.write("llmc", damaged(random() % 2 == 0 ? data::llmc_bytes(tokens16, 20240520, 1)
                                                   : data::llmc_bytes(tokens32, 20240801, 7),
                                 random));
    count(llmc);
    folder.write("m.bin", damaged(Folder::bytes_of(tokens16), random));
    folder.write("m.idx", damaged(data::megatron_index({60, 0, 40}, 8, 2), random));
    count(megatron);
    folder.write("cifar", damaged(image_rows, random));
    count(cifar);
    folder.write("i", damaged(data::idx_bytes({4, 2, 3}, std::string(24, '\7')), random));
    folder.write("l", damaged(data::idx_bytes({4}, std::string(4, '\3')), random));
    count(idx);
  }
  CHECK(sound > 0);
  CHECK(refused > 0);
}
