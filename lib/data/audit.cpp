#include "data/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "data/open.h"
#include "data/splitmix.h"
#include "data/text_files.h"
#include "data/token_scan.h"

namespace trainctl::data {

namespace {

using Clock = std::chrono::steady_clock;
constexpr uint64_t kPage = 4096,
                   kChunk = uint64_t{4} << 20;  // bytes: looked at when sampling, and at once in full
constexpr auto kSampledTime = std::chrono::milliseconds(30);
constexpr uint64_t kRandomPages = 256;  // over all files

class Audit {
 public:
  Audit(const spec::JobSpec& job, spec::AuditLevel level) : job_(job) { report_.level = level; }

  AuditReport run() {
    const auto start = Clock::now();
    full_ = report_.level == spec::AuditLevel::kFull;
    needs_ = model_needs(job_);
    check_tokenizer();
    const Datasets sets = open_datasets(job_, /*tokenize=*/full_, found());
    report_.list_hash = sets.list_hash;
    for (const Source* source : {&sets.train_source, &sets.eval_source}) {
      count(*source);
      if (report_.level != spec::AuditLevel::kOff) look_at(*source);
    }
    report_.counted = sets.train != nullptr || !report_.ok();
    if (sets.train != nullptr) check_epoch(*sets.train);
    if (sets.held_out != nullptr) report_.held_out_samples = sets.held_out->num_samples();
    report_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return std::move(report_);
  }

 private:
  std::vector<Diagnostic>& found() { return report_.diagnostics; }

  void check_tokenizer() {
    if (job_.data.format != spec::DataFormat::kText) return;
    try {
      const int64_t size = open_tokenizer(job_.tokenizer)->vocab_size();
      if (size <= needs_.vocab_size) return;
      found().push_back({.what = fmt::format("the tokenizer has {} tokens, but `model.vocab_size` is {}",
                                             size, needs_.vocab_size),
                         .help = fmt::format("set `model.vocab_size: {}` or more", size)});
    } catch (const UserError&) {
      // opening the data reports it
    }
  }

  void count(const Source& source) {
    report_.num_files += static_cast<int64_t>(source.files.size());
    report_.num_skipped += source.num_skipped;
    for (const auto& file : source.files) report_.size_bytes += file.size_bytes;
    for (const auto& stream : source.streams) report_.num_tokens += stream.size();
  }

  void look_at(const Source& source) {
    std::vector<TokenSegment> segments;
    for (const auto& stream : source.streams) {
      segments.insert(segments.end(), stream.segments().begin(), stream.segments().end());
    }
    if (!segments.empty()) look_at_tokens(segments);
    for (const auto& shard : source.images) look_at_labels(shard);
    if (full_ && job_.data.format == spec::DataFormat::kMegatron) {
      for (const auto& stream : source.streams) check_megatron_index(stream.place(0).path, found());
    }
  }

  void look_at_tokens(const std::vector<TokenSegment>& segments) {
    const auto limit = static_cast<uint64_t>(needs_.vocab_size);
    const auto deadline = full_ ? Clock::time_point::max() : Clock::now() + kSampledTime;
    const int threads = full_ ? std::max(1, static_cast<int>(std::thread::hardware_concurrency())) : 1;
    const auto scans =
        scan_tokens(segments, full_ ? all_of(segments) : some_of(segments), limit, threads, deadline);
    for (size_t i = 0; i < segments.size(); ++i) {
      report_.checked_bytes += scans[i].bytes;
      judge(segments[i], scans[i]);
    }
  }

  void judge(const TokenSegment& segment, const Scan& scan) {
    const bool raw16 = job_.data.format == spec::DataFormat::kTokensU16;
    if (raw16 && looks_like_uint32(scan)) {
      found().push_back(
          {.at = {.file = segment.path},
           .what = fmt::format("looks like uint32: of the words looked at, {:.0f} % of the odd ones are "
                               "zero, and {:.0f} % of the even ones",
                               percent(scan.odd_zeros, scan.odd), percent(scan.even_zeros, scan.even)),
           .help = "set `data.format: tokens_u32`"});
    } else if (segment.width == 2 && needs_.vocab_size > 65536) {
      found().push_back(
          {.at = {.file = segment.path},
           .what =
               fmt::format("holds uint16 tokens, too small for ids of a vocabulary of {}", needs_.vocab_size),
           .help = "write the tokens as uint32 (`data.format: tokens_u32`), or lower `model.vocab_size`"});
    }
    if (scan.bad_token) {
      found().push_back(
          {.at = {.file = segment.path},
           .what =
               fmt::format("token {} at byte {} has id {}, but the model's vocabulary is {}", *scan.bad_token,
                           segment.offset_bytes + *scan.bad_token * static_cast<uint64_t>(segment.width),
                           token_at(segment.data, segment.width, *scan.bad_token), needs_.vocab_size),
           .help =
               "the file was made by another tokenizer, or `data.format` or `model.vocab_size` is wrong"});
    }
  }

  void look_at_labels(const ImageShard& shard) {
    const int64_t step = full_ ? 1 : std::max<int64_t>(1, shard.count / 1024);
    for (int64_t i = 0; i < shard.count; i += step) {
      const auto label = static_cast<int64_t>(shard.labels[i * shard.label_stride]);
      ++report_.checked_bytes;
      if (label < needs_.num_classes) continue;
      found().push_back(
          {.at = {.file = shard.label_path},
           .what = fmt::format("image {} has label {} (byte {}), but the model has {} classes", i, label,
                               shard.label_offset + static_cast<uint64_t>(i * shard.label_stride),
                               needs_.num_classes),
           .help = "set the model's number of classes, or use other data"});
      return;
    }
  }

  void check_epoch(const Dataset& train) {
    report_.train_samples = train.num_samples();
    const Sampler sampler(train.num_samples(), job_.train.micro_batch, static_cast<uint64_t>(job_.seed),
                          job_.data.shuffle, job_.data.last_batch);
    report_.samples_per_epoch = sampler.samples_per_epoch();
    const int64_t ranks = job_.launch.nproc_per_node.value_or(1);
    const int64_t least = ranks * job_.train.micro_batch;
    if (sampler.samples_per_epoch() >= least) return;
    const bool drops = job_.data.shuffle && job_.data.last_batch == spec::LastBatch::kDrop;
    found().push_back(
        {.what =
             fmt::format("an epoch of {} samples is less than one micro-batch of {} on each of {} processes",
                         train.num_samples(), job_.train.micro_batch, ranks),
         .help = drops ? "lower `train.micro_batch` or `launch.nproc_per_node`, set `data.last_batch: pad`, "
                         "or add data"
                       : "samples repeat within one step; lower `train.micro_batch`, or add data",
         .severity = drops ? Severity::kError : Severity::kWarning});
  }

  static double percent(uint64_t part, uint64_t whole) {
    return 100.0 * static_cast<double>(part) / static_cast<double>(std::max<uint64_t>(whole, 1));
  }

  /// Stretches of `bytes` bytes that cover every segment.
  static std::vector<Stretch> all_of(const std::vector<TokenSegment>& segments) {
    std::vector<Stretch> stretches;
    for (size_t s = 0; s < segments.size(); ++s) {
      const uint64_t step = kChunk / static_cast<uint64_t>(segments[s].width);
      for (uint64_t first = 0; first < segments[s].count; first += step) {
        stretches.push_back({s, first, std::min(step, segments[s].count - first)});
      }
    }
    return stretches;
  }

  /// First and last page of every segment, then random ones, the same in every run.
  static std::vector<Stretch> some_of(const std::vector<TokenSegment>& segments) {
    std::vector<Stretch> stretches;
    const auto page = [&](size_t s, uint64_t first) {
      const uint64_t tokens = kPage / static_cast<uint64_t>(segments[s].width);
      stretches.push_back({s, first, std::min(tokens, segments[s].count - first)});
    };
    const auto last_start = [&](size_t s) {
      const uint64_t tokens = kPage / static_cast<uint64_t>(segments[s].width);
      return segments[s].count > tokens ? segments[s].count - tokens : 0;
    };
    for (size_t s = 0; s < segments.size(); ++s) page(s, 0), page(s, last_start(s));
    for (uint64_t i = 0; i < kRandomPages; ++i) {
      const size_t s = i % segments.size();
      page(s, splitmix64(i) % (last_start(s) + 1));
    }
    return stretches;
  }

  const spec::JobSpec& job_;
  ModelNeeds needs_;
  bool full_ = false;
  AuditReport report_;
};

}  // namespace

bool AuditReport::ok() const {
  return std::none_of(diagnostics.begin(), diagnostics.end(),
                      [](const auto& d) { return d.severity == Severity::kError; });
}

AuditReport audit(const spec::JobSpec& job, spec::AuditLevel level) { return Audit(job, level).run(); }

}  // namespace trainctl::data
