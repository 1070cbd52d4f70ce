// cmd_data.cpp: looks at a job's data, and makes token files of text.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "commands.h"
#include "data/audit.h"
#include "data/tokenize.h"
#include "spec/load.h"

namespace trainctl::app {

namespace {

struct CheckOptions {
  std::string file;
  std::vector<std::string> sets;
  bool sample = false, json = false;
};

int check(const CheckOptions& options) {
  const spec::JobSpec job = spec::load_job(options.file, options.sets);
  const auto report = data::audit(job, options.sample ? spec::AuditLevel::kSampled : spec::AuditLevel::kFull);
  for (const auto& d : report.diagnostics) fmt::print(stderr, "{}", render(d));
  fmt::print("{}", options.json ? to_json(report) : to_text(report));
  return report.ok() ? kExitDone : kExitUser;
}

struct TokenizeOptions {
  std::string tokenizer, out;
  std::vector<std::string> inputs;
  int threads = 0;
  int64_t vocab_check = 0;
};

std::unique_ptr<tokenizer::Tokenizer> open_by_name(const std::string& name) {
  using tokenizer::Kind;
  if (name == "bytes") return tokenizer::open_tokenizer(Kind::kBytes, "");
  return tokenizer::open_tokenizer(name.ends_with(".model") ? Kind::kSentencepiece : Kind::kHuggingface,
                                   name);
}

/// One line on stderr: overwritten on a terminal, else a new one every 10 s.
class ProgressLine {
 public:
  explicit ProgressLine(uint64_t total) : total_(total) {}
  void operator()(uint64_t done) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + (terminal_ ? std::chrono::milliseconds(200) : std::chrono::milliseconds(10'000));
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const auto bytes = static_cast<double>(done);
    fmt::print(stderr, "{}tokenize: {:.1f} of {:.1f} MB, {:.1f} MB/s{}", terminal_ ? "\r" : "", bytes / 1e6,
               static_cast<double>(total_) / 1e6, seconds > 0 ? bytes / 1e6 / seconds : 0.0,
               terminal_ ? "\033[K" : "\n");
    shown_ = true;
  }
  void end() const {
    if (terminal_ && shown_) fmt::print(stderr, "\r\033[K");
  }

 private:
  uint64_t total_;
  bool terminal_ = isatty(STDERR_FILENO) == 1, shown_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point next_ = start_ + std::chrono::milliseconds(200);
};

int tokenize(const TokenizeOptions& options) {
  const auto tokenizer = open_by_name(options.tokenizer);
  if (options.vocab_check > 0 && tokenizer->vocab_size() > options.vocab_check) {
    throw UserError(fmt::format("the tokenizer has {} tokens, more than --vocab-check {}",
                                tokenizer->vocab_size(), options.vocab_check),
                    "use a model with a larger vocabulary, or another tokenizer");
  }
  std::vector<Diagnostic> found;
  const auto files = data::expand_files(options.inputs, "INPUT", found);
  if (!found.empty()) throw UserError(std::move(found));
  uint64_t total = 0;
  for (const auto& file : files) {
    total += file.size_bytes;
    std::error_code none;
    if (std::filesystem::equivalent(options.out, file.path, none)) {
      throw UserError(fmt::format("the output {} is also an input, which would be lost", options.out),
                      "write to another file");
    }
  }
  const int threads = options.threads > 0
                          ? options.threads
                          : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  ProgressLine progress(total);
  const auto result =
      data::tokenize_files(*tokenizer, files, options.out, threads, [&](uint64_t done) { progress(done); });
  progress.end();
  fmt::print("{}: {} tokens of {} bytes of text, in {:.2f} s ({:.1f} MB/s)\n", options.out, result.num_tokens,
             result.num_bytes, result.seconds,
             static_cast<double>(result.num_bytes) / 1e6 / std::max(result.seconds, 1e-9));
  fmt::print("use it with `data.format: tokens_u{}` and `model.vocab_size: {}` or more\n", result.width * 8,
             tokenizer->vocab_size());
  return kExitDone;
}

void add_check(CLI::App& data, Action& action) {
  CLI::App* const command =
      data.add_subcommand("check", "look at every file that a job reads, and report what is wrong with it");
  auto options = std::make_shared<CheckOptions>();
  command->add_option("job", options->file, "the job file (YAML)")->required();
  command
      ->add_option("--set", options->sets,
                   "key=value, such as data.format=llmc; wins over the file; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_flag("--sample", options->sample,
                    "look at some pages of each file only, as the start of a run does");
  command->add_flag("--json", options->json, "print one JSON object");
  command->footer(
      "Exit code 2 where there is a fault.\nExample: trainctl data check configs/quickstart.yaml");
  command->callback([&action, options] { action = [options] { return check(*options); }; });
}

void add_tokenize(CLI::App& data, Action& action) {
  CLI::App* const command = data.add_subcommand("tokenize", "make a raw token file of text files");
  auto options = std::make_shared<TokenizeOptions>();
  command
      ->add_option("--tokenizer", options->tokenizer, "a tokenizer.json, a SentencePiece .model, or `bytes`")
      ->required();
  command->add_option("--out", options->out, "the token file; replaced when all is done")->required();
  command->add_option("inputs", options->inputs, "text files, folders or globs; read in sorted order")
      ->required();
  command->add_option("--threads", options->threads, "threads; 0: one a core")->check(CLI::Range(0, 1024));
  command->add_option("--vocab-check", options->vocab_check,
                      "refuse a tokenizer with more tokens than this, the model's vocabulary");
  command->footer(
      "Writes uint16 where the vocabulary fits, else uint32.\n"
      "Example: trainctl data tokenize --tokenizer tokenizer.json --out train.bin texts/*.txt");
  command->callback([&action, options] { action = [options] { return tokenize(*options); }; });
}

}  // namespace

void add_data(CLI::App& app, Action& action) {
  CLI::App* const data = app.add_subcommand("data", "check a job's data; make token files");
  data->require_subcommand(1);
  add_check(*data, action);
  add_tokenize(*data, action);
}

}  // namespace trainctl::app
