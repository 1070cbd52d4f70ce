// load.h: from a job file to a checked JobSpec, and back to text.  What the keys are stands in describe.cpp,
// what must hold between them in validate.cpp.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "spec/job_spec.h"
#include "util/diagnostic.h"

namespace trainctl::spec {

/// Where a value came from.
struct Origin {
  enum class Kind { kDefault, kPreset, kDerived, kFile, kSet };
  Kind kind = Kind::kDefault;
  SourcePos at;        // kFile: file, line and column of the value; kSet: "--set #2"
  std::string detail;  // kPreset: its name; kDerived: from which keys
};

/// `default`, `preset gpt2-tiny`, `from train.steps`, `job.yaml:12`, `--set #2`.
std::string to_string(const Origin& origin);

using Origins = std::map<std::string, Origin, std::less<>>;  // by key, "optimizer.lr"

struct LoadedJob {
  JobSpec spec;
  Origins origins;                // of every key
  std::vector<Diagnostic> notes;  // what the user should know, but is no mistake
};

/// Reads, resolves (presets, autos that need no hardware, paths) and validates.  Relative paths are taken
/// from the file's folder, those of `sets` ("optimizer.lr=1e-3") from the current one; globs stay patterns.
/// Throws UserError with all mistakes, those of the file first, by line.
LoadedJob load_job_with_origins(const std::filesystem::path& file, const std::vector<std::string>& sets = {});

/// The same from text; `name` stands for the file in messages and origins.
LoadedJob load_job_text(const std::string& text, const std::filesystem::path& name,
                        const std::vector<std::string>& sets = {});

/// The spec alone; prints the notes to stderr.
JobSpec load_job(const std::filesystem::path& file, const std::vector<std::string>& sets = {});

/// A job file that load_job reads back to the same spec: every key that applies, absolute paths.
std::string to_yaml(const JobSpec& spec);

/// The same with each value's origin as a comment.
std::string to_yaml(const JobSpec& spec, const Origins& origins);

/// One JSON object: `schema`, `spec` (null stands for auto) and `origins`.
std::string to_json(const LoadedJob& job);

/// The reference of every key, as Markdown (configs/SCHEMA.md) and as JSON Schema (draft 2020-12).
std::string schema_markdown();
std::string schema_json();

}  // namespace trainctl::spec
