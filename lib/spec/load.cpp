#include "spec/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "spec/assignments.h"
#include "spec/conditions.h"
#include "spec/describe.h"
#include "spec/document.h"
#include "spec/presets.h"
#include "spec/problems.h"
#include "spec/typing.h"
#include "spec/utf8.h"
#include "spec/validate.h"

namespace trainctl::spec {

namespace {

namespace fs = std::filesystem;

std::string read_text(const fs::path& file) {
  std::error_code error;
  if (fs::is_directory(file, error)) {
    throw UserError({.at = {.file = file.string()},
                     .what = "is a folder, not a job file",
                     .help = "name the file itself",
                     .source_line = ""});
  }
  std::ifstream in(file, std::ios::binary);
  std::string text(kMaxDocumentBytes + 1, '\0');  // one byte more than allowed: Document says so
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in.is_open() || in.bad()) {
    throw UserError({.at = {.file = file.string()},
                     .what = fs::exists(file, error) ? "cannot be read" : "there is no such file",
                     .help = "check the path and its permissions",
                     .source_line = ""});
  }
  text.resize(static_cast<size_t>(in.gcount()));
  return text;
}

// The steps from given texts to a whole spec, in order.
class Loader {
 public:
  Loader(Problems& problems, SourcePos file)
      : fields_(fields_of(job_.spec)), problems_(problems), file_(std::move(file)) {
    for (const Field& field : fields_) job_.origins[field.path] = {};
  }

  const std::vector<Field>& fields() const { return fields_; }

  void read(const Assignments& given) {
    const Environment environment = process_environment();
    for (Field& field : fields_) {
      const auto assigned = given.find(field.path);
      if (assigned == given.end()) continue;
      const auto value = read_value(field, assigned->second, environment, problems_);
      if (!value) {
        broken_.insert(field.path);
        job_.origins[field.path] = assigned->second.origin;
      } else {
        field.set(*value);
        // `auto` is the same as leaving the key out: what it becomes is derived below.
        if (!std::holds_alternative<std::monostate>(*value))
          job_.origins[field.path] = assigned->second.origin;
      }
    }
  }

  void apply_preset() {
    ModelSpec& model = job_.spec.model;
    if (model.preset.empty()) return;
    const auto preset = preset_keys(model.preset);
    const Origin& named = job_.origins["model.preset"];
    if (!preset) {
      const auto names = preset_names();
      const std::string best = model.preset.size() > 64 ? "" : nearest(model.preset, names);
      problems_.add(named.at, fmt::format("there is no preset `{}`", shortened(model.preset)),
                    best.empty() ? fmt::format("use one of {}", fmt::join(names, ", "))
                                 : fmt::format("did you mean `{}`?", best));
      broken_.insert({"model.preset", "model.family"});
      return;
    }
    if (model.family && model.family != preset->family) {
      problems_.add(job_.origins["model.family"].at,
                    fmt::format("`model.family` contradicts the preset {}", model.preset),
                    fmt::format("remove it, or the preset ({})", to_string(named)));
      broken_.insert("model.family");
      return;
    }
    fill_model(*preset, Origin::Kind::kPreset, model.preset);
  }

  void derive() {
    ModelSpec defaults = job_.spec.model;
    fill_model_defaults(defaults);
    fill_model(defaults, Origin::Kind::kDefault, "");
    JobSpec& j = job_.spec;
    if (is_transformer(j))
      derive("data.seq_len", j.data.seq_len, j.model.max_seq_len, "model.max_seq_len", "model.max_seq_len");
    derive("schedule.total_steps", j.schedule.total_steps, j.train.steps, "train.steps", "train.steps");
    derive("schedule.min_lr", j.schedule.min_lr, j.optimizer.lr / 10, "optimizer.lr", "optimizer.lr / 10");
    derive("eval.micro_batch", j.eval.micro_batch, j.train.micro_batch, "train.micro_batch",
           "train.micro_batch");
    if (j.run_dir.empty()) {
      j.run_dir = (fs::current_path() / "runs" / j.name).string();
      job_.origins["run_dir"] = {Origin::Kind::kDerived, {}, "name and the current folder"};
    }
  }

  void check(const Assignments& given) {
    const Sources sources{job_.origins, broken_, file_};
    check_applies(job_.spec, fields_, sources, problems_);
    for (const Field& field : fields_) {
      const auto assigned = given.find(field.path);
      if (assigned == given.end() || broken_.contains(field.path) || !field.applies(job_.spec)) continue;
      check_paths(field, assigned->second, problems_);
    }
    check_together(job_.spec, sources, problems_);
  }

  LoadedJob take() { return std::move(job_); }

 private:
  // `value` follows from the key `source`, as `detail` says; where that could not be read, nothing follows.
  template <class T, class From>
  void derive(const char* path, std::optional<T>& key, const From& value, const char* source,
              const char* detail) {
    if (key || broken_.contains(path)) return;
    if (broken_.contains(source)) {
      broken_.insert(path);
      return;
    }
    key = value;
    job_.origins[path] = {Origin::Kind::kDerived, {}, detail};
  }

  // Model keys that were not given, from `source`; those that mean nothing here stay empty.
  void fill_model(const ModelSpec& source, Origin::Kind kind, const std::string& detail) {
    JobSpec whole = job_.spec;
    whole.model = source;
    const std::vector<Field> from = fields_of(whole);
    // The deciding keys (family, rope_scaling) come before those that depend on them.
    for (size_t i = 0; i < fields_.size(); ++i) {
      const std::string& path = fields_[i].path;
      Origin& origin = job_.origins[path];
      if (!path.starts_with("model.") || path == "model.preset" || path == "model.init_from") continue;
      if (origin.kind != Origin::Kind::kDefault || broken_.contains(path) || !fields_[i].applies(job_.spec))
        continue;
      const Value value = from[i].get();
      if (value == fields_[i].get()) continue;
      fields_[i].set(value);
      origin = {kind, {}, detail};
    }
  }

  LoadedJob job_;
  std::vector<Field> fields_;
  Problems& problems_;
  SourcePos file_;
  std::set<std::string, std::less<>> broken_;
};

}  // namespace

std::string to_string(const Origin& origin) {
  switch (origin.kind) {
    case Origin::Kind::kDefault:
      return "default";
    case Origin::Kind::kPreset:
      return "preset " + origin.detail;
    case Origin::Kind::kDerived:
      return "from " + origin.detail;
    case Origin::Kind::kFile:
      return fmt::format("{}:{}", origin.at.file, origin.at.line);
    case Origin::Kind::kSet:
      return origin.at.file;
  }
  return "";
}

LoadedJob load_job_text(const std::string& text, const fs::path& name, const std::vector<std::string>& sets) {
  const Document document = Document::parse(text, name.string());
  Problems problems(document);
  Loader loader(problems, {.file = name.string()});
  Assignments given;
  std::vector<Diagnostic> notes;
  assign_document(document, loader.fields(), fs::absolute(name).parent_path(), given, problems);
  assign_sets(sets, loader.fields(), given, problems, notes);
  loader.read(given);
  loader.apply_preset();
  loader.derive();
  loader.check(given);
  problems.throw_if_any();
  LoadedJob job = loader.take();
  job.notes = std::move(notes);
  return job;
}

LoadedJob load_job_with_origins(const fs::path& file, const std::vector<std::string>& sets) {
  return load_job_text(read_text(file), file, sets);
}

JobSpec load_job(const fs::path& file, const std::vector<std::string>& sets) {
  LoadedJob job = load_job_with_origins(file, sets);
  for (const Diagnostic& note : job.notes) fmt::print(stderr, "{}", render(note));
  return std::move(job.spec);
}

}  // namespace trainctl::spec
