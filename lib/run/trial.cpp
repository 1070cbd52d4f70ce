#include "run/trial.h"

#include <algorithm>
#include <type_traits>

#include "run/json_fields.h"
#include "spec/load.h"
#include "util/atomic_file.h"
#include "util/diagnostic.h"

namespace trainctl::run {

namespace fs = std::filesystem;

template <class T, class U>
concept Is = std::is_same_v<std::remove_const_t<T>, U>;

// The lists of fields, found by argument-dependent lookup (so in no unnamed namespace).  T is const when
// writing; the key is the member's name.
template <class F, Is<Trial> T>
void visit(F& f, T& t) {
  f("name", t.name);
  f("warmup_steps", t.warmup_steps);
  f("evaluate", t.evaluate);
  f("save_weights", t.save_weights);
  f("weights", t.weights);
}

template <class F, Is<StepSummary> T>
void visit(F& f, T& s) {
  f("median_ms", s.median_ms);
  f("p10_ms", s.p10_ms);
  f("p90_ms", s.p90_ms);
  f("per_s", s.per_s);
  f("data_wait_share", s.data_wait_share);
  f("flops_per_step", s.flops_per_step);
  f("mfu", s.mfu);
  f("mfu_measured", s.mfu_measured);
}

template <class F, Is<RankSummary> T>
void visit(F& f, T& r) {
  f("rank", r.rank);
  f("peak_rss_mb", r.peak_rss_mb);
  f("peak_device_mb", r.peak_device_mb);
  f("data_wait_share", r.data_wait_share);
}

template <class F, Is<TrialResult> T>
void visit(F& f, T& r) {
  f("message", r.message);
  f("device", r.device);
  f("unit", r.unit);
  f("num_parameters", r.num_parameters);
  f("steps", r.steps);
  f("skipped_steps", r.skipped_steps);
  f("first_loss", r.first_loss);
  f("final_loss", r.final_loss);
  f("losses_finite", r.losses_finite);
  f("eval_loss_before", r.eval_loss_before);
  f("eval_loss", r.eval_loss);
  f("eval_samples", r.eval_samples);
  f("unigram_entropy", r.unigram_entropy);
  f("step", r.step);
  f("ranks", r.ranks);
  f("parameter_hash", r.parameter_hash);
  f("start_to_step0_s", r.start_to_step0_s);
  f("load_s", r.load_s);
  f("init_s", r.init_s);
  f("measured_peak_tflops", r.measured_peak_tflops);
}

template <class F, Is<WorkerError> T>
void visit(F& f, T& e) {
  f("rank", e.rank);
  f("step", e.step);
  f("kind", e.kind);
  f("what", e.what);
  f("help", e.help);
  f("monotonic_ns", e.monotonic_ns);
}

namespace {

constexpr const char* kStatusNames[] = {"done", "stopped", "failed"};

/// Parses `text` and hands the object to `read`.  Throws UserError with file and line for both kinds of
/// mistake.
template <class Read>
void parse(const std::string& text, const fs::path& file, Read read) {
  try {
    const Json json = Json::parse(text);
    if (!json.is_object())
      throw UserError(Diagnostic{.at = {file.string(), 1, 1}, .what = "not a JSON object"});
    read(json);
  } catch (const nlohmann::detail::parse_error& error) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, text.size()));
    const auto line = static_cast<int>(std::count(text.begin(), end, '\n')) + 1;
    throw UserError(
        Diagnostic{.at = {file.string(), line, 0}, .what = "broken JSON: " + std::string(error.what())});
  } catch (const nlohmann::detail::exception& error) {
    throw UserError(Diagnostic{.at = {file.string(), 1, 0}, .what = error.what()});
  }
}

void save(const Json& json, const fs::path& path, Durability durability) {
  write_file_atomically(path, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n", durability);
}

}  // namespace

void write_trial(const Trial& trial) {
  JsonWriter writer;
  visit(writer, trial);
  write_file_atomically(trial.dir / "trial.yaml", spec::to_yaml(trial.spec), Durability::kNotSynced);
  save(writer.out, trial.dir / "trial.json", Durability::kNotSynced);
}

Trial read_trial(const fs::path& dir) {
  const fs::path file = dir / "trial.json";
  const auto text = read_file_if_present(file);
  if (!text) {
    throw UserError(
        Diagnostic{.at = {file.string()}, .what = "no such file", .help = "name the folder of a trial"});
  }
  Trial trial;
  parse(*text, file, [&](const Json& json) {
    JsonReader reader{json};
    visit(reader, trial);
  });
  trial.dir = dir;
  trial.spec = spec::load_job_with_origins(dir / "trial.yaml").spec;  // its notes were shown before
  return trial;
}

void write_result(const TrialResult& result, const fs::path& dir) {
  JsonWriter writer;
  writer.out["schema"] = "trainctl.result/1";
  writer.out["status"] = kStatusNames[static_cast<int>(result.status)];
  visit(writer, result);
  save(writer.out, dir / "result.json", Durability::kSynced);
}

std::optional<TrialResult> read_result(const fs::path& dir) {
  const fs::path file = dir / "result.json";
  const auto text = read_file_if_present(file);
  if (!text) return std::nullopt;
  TrialResult result;
  parse(*text, file, [&](const Json& json) {
    const std::string status = json.value("status", "");
    const auto* const found = std::find(std::begin(kStatusNames), std::end(kStatusNames), status);
    if (found == std::end(kStatusNames)) {
      throw UserError(Diagnostic{.at = {file.string()},
                                 .what = "`status` is `" + status + "`",
                                 .help = "it is one of done, stopped, failed"});
    }
    result.status = static_cast<TrialResult::Status>(found - kStatusNames);
    JsonReader reader{json};
    visit(reader, result);
  });
  return result;
}

void write_worker_error(const WorkerError& error, const fs::path& attempt_dir) {
  JsonWriter writer;
  visit(writer, error);
  // Not synced: the launcher on this machine reads it within milliseconds, and a dying worker should not
  // wait.
  save(writer.out, attempt_dir / ("rank-" + std::to_string(error.rank) + ".error.json"),
       Durability::kNotSynced);
}

std::vector<WorkerError> read_worker_errors(const fs::path& attempt_dir) {
  std::vector<WorkerError> errors;
  std::error_code ignored;  // no folder: no errors
  for (const auto& entry : fs::directory_iterator(attempt_dir, ignored)) {
    if (!entry.path().filename().string().ends_with(".error.json")) continue;
    const auto text = read_file_if_present(entry.path());
    if (!text) continue;
    parse(*text, entry.path(), [&](const Json& json) {
      JsonReader reader{json};
      visit(reader, errors.emplace_back());
    });
  }
  std::stable_sort(errors.begin(), errors.end(),
                   [](const auto& a, const auto& b) { return a.monotonic_ns < b.monotonic_ns; });
  return errors;
}

}  // namespace trainctl::run
