// data_command_test.cpp: `trainctl data` as a user runs it: exit codes, stdout, the files it leaves.
#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>

#include "support/program.h"
#include "unit/data/files.h"

using trainctl::data::Folder;
using trainctl::test::read_file;

namespace {

struct Ended {
  int code = 0;
  std::string out, err;
};

/// `arguments` as a shell reads them.
Ended run_trainctl(const Folder& folder, const std::string& arguments) {
  trainctl::test::Program program({"sh", "-c", "exec \"$0\" " + arguments, trainctl::test::trainctl_bin()},
                                  {}, folder.path(""));
  return {program.wait(), program.out(), program.err()};
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const char* const kJob =
    "model: {preset: gpt2-tiny}\n"
    "data: {format: tokens_u16, train: ['shards/*.bin'], seq_len: 16, holdout: 0.1}\n"
    "train: {steps: 2, micro_batch: 2}\n";

}  // namespace

TEST_CASE("a sound job passes the check with its figures", "[data]") {
  const Folder folder;
  std::filesystem::create_directory(folder.path("shards"));
  folder.write("shards/a.bin", trainctl::data::ramp<uint16_t>(1601, 256));
  folder.write("job.yaml", std::string(kJob));
  const Ended text = run_trainctl(folder, "data check job.yaml");
  INFO(text.err);
  CHECK(text.code == 0);
  CHECK(has(text.out, "1 file, 0.0 MB, 1,601 tokens"));
  CHECK(has(text.out, "90 samples to train on, 90 an epoch; 10 held out"));
  CHECK(has(text.out, "ok: 0 errors, 0 warnings"));
  const Ended json = run_trainctl(folder, "data check job.yaml --json --sample");
  CHECK(json.code == 0);
  CHECK(has(json.out, "\"schema\": \"trainctl.data_check/1\""));
  CHECK(has(json.out, "\"level\": \"sampled\""));
}

TEST_CASE("every fault of the data ends the check with exit code 2", "[data]") {
  const Folder folder;
  std::filesystem::create_directory(folder.path("shards"));
  auto tokens = trainctl::data::ramp<uint16_t>(1601, 256);
  tokens[700] = 256;
  folder.write("shards/a.bin", tokens);
  folder.write("shards/b.bin", std::string(33, 'x'));
  folder.write("shards/c.bin", trainctl::data::ramp<uint32_t>(1601, 256));
  folder.write("job.yaml", std::string(kJob));
  const Ended ended = run_trainctl(folder, "data check job.yaml");
  INFO(ended.err);
  CHECK(ended.code == 2);
  CHECK(has(ended.err, "a.bin: error: token 700 at byte 1400 has id 256, but the model's vocabulary is 256"));
  CHECK(has(ended.err, "b.bin: error: is 33 bytes"));
  CHECK(has(ended.err, "c.bin: error: looks like uint32"));
  CHECK(has(ended.out, "not ok: 3 errors"));
}

TEST_CASE("tokenize makes a file that a job reads and leaves nothing else", "[data]") {
  const Folder folder;
  std::filesystem::create_directories(folder.path("shards"));
  folder.write("b.txt", std::string("world"));
  folder.write("a.txt", std::string("hello "));
  const Ended ended = run_trainctl(folder, "data tokenize --tokenizer bytes --out shards/t.bin '*.txt'");
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(has(ended.out, "11 tokens of 11 bytes"));
  CHECK(has(ended.out, "data.format: tokens_u16"));
  CHECK(read_file(folder.path("shards/t.bin")) ==
        Folder::bytes_of(std::vector<uint16_t>{'h', 'e', 'l', 'l', 'o', ' ', 'w', 'o', 'r', 'l', 'd'}));
  const Ended refused =
      run_trainctl(folder, "data tokenize --tokenizer bytes --vocab-check 100 --out shards/u.bin a.txt");
  CHECK(refused.code == 2);
  CHECK(has(refused.err, "the tokenizer has 256 tokens, more than --vocab-check 100"));
  CHECK(run_trainctl(folder, "data tokenize --tokenizer missing.json --out shards/u.bin a.txt").code == 2);
  CHECK(run_trainctl(folder, "data tokenize --tokenizer bytes --out shards/u.bin none.txt").code == 2);
  CHECK(run_trainctl(folder, "data tokenize --tokenizer bytes --out nowhere/u.bin a.txt").code == 3);
  const std::filesystem::directory_iterator left(folder.path("shards"));
  CHECK(std::distance(begin(left), end(left)) == 1);
}

TEST_CASE("tokenize never overwrites its input nor what is no ordinary file", "[data]") {
  const Folder folder;
  folder.write("a.txt", std::string("some text"));
  std::filesystem::create_symlink("a.txt", folder.path("link.txt"));
  std::filesystem::create_directory(folder.path("folder"));
  for (const char* const out : {"a.txt", "./a.txt", "link.txt", "folder"}) {
    const Ended ended =
        run_trainctl(folder, std::string("data tokenize --tokenizer bytes --out ") + out + " a.txt");
    CHECK(ended.code == 2);
    CHECK(read_file(folder.path("a.txt")) == "some text");
    CHECK(std::filesystem::is_symlink(folder.path("link.txt")));
  }
}
