// diagnostic.h: what went wrong, where, and what to do: the two errors that trainctl expects, and their text.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace trainctl {

/// A place in a text.  Lines and columns count from 1, columns in bytes; 0 means that there is none to name.
struct SourcePos {
  std::string file;  // a path as the user gave it, or "--set #2"
  int line = 0;
  int column = 0;
};

enum class Severity { kError, kWarning, kNote };

/// One finding.  Lower case, no full stop; `help` says what to do.
struct Diagnostic {
  SourcePos at;
  std::string what;
  std::string help;
  std::string source_line;  // shown with a caret at at.column; may be empty
  Severity severity = Severity::kError;
};

/// The command or the spec is wrong (exit 2).  Holds every mistake found, so that all show at once.
class UserError : public std::exception {
 public:
  explicit UserError(std::vector<Diagnostic> diagnostics);
  explicit UserError(Diagnostic diagnostic);
  UserError(std::string what, std::string help);
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::vector<Diagnostic> diagnostics_;
  std::string text_;
};

/// The surroundings failed (exit 3): no GPU, port taken, disk full, peer silent.  Trying again may help.
class InfraError : public std::exception {
 public:
  explicit InfraError(std::string what, std::string help = "");
  const char* what() const noexcept override { return what_.c_str(); }
  const std::string& help() const { return help_; }

 private:
  std::string what_, help_;
};

/// Exit codes of the command line (128 + n: stopped by signal n).
enum ExitCode : int {
  kExitDone = 0,
  kExitJob = 1,
  kExitUser = 2,
  kExitInfra = 3,
  kExitCheck = 4,
  kExitBug = 70
};

/// The finding as text: `file:line:column: error: what`, the line with a caret, `help: ...`; ends in a
/// newline.
std::string render(const Diagnostic& diagnostic, bool color = false);

/// The candidate nearest to `name` by edit distance (Damerau-Levenshtein, dashes equal to underscores), or ""
/// where none is near enough to be a likely typo.
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace trainctl
