// report.h: what a stage found, as plain data.  Views of it: text.h (terminal), json.h (report.json,
// `--json`).
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace trainctl::report {

/// kCheckFailed: the job ran, a check did not hold.  kFailed: the job did not run to its end.  kStopped: a
/// signal asked for the end.
enum class Verdict { kPassed, kCheckFailed, kFailed, kStopped };

/// One line of a checklist.  A required one that is not met fails the stage.
struct Finding {
  enum class State { kMet, kNotMet, kNotApplicable };
  std::string key;  // "loss_falls"
  State state = State::kNotApplicable;
  std::string what;      // "loss falls"
  std::string evidence;  // the number behind it, or why it does not apply
  bool required = true;
};

/// One number.  Units: "ms", "s", "MB", "nats", "share" (shown in percent), "TFLOP/s", "tokens/s", "" ...
struct Figure {
  std::string key;    // "step_ms"
  std::string label;  // "step time"
  double value = 0;
  std::string unit;
  std::string note;  // "p10 60.1, p90 63.0"; may be empty
};

struct Column {
  std::string key, label, unit;
};
using Cell = std::variant<std::string, double>;
struct Table {
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

struct Report {
  std::string stage;
  Verdict verdict = Verdict::kPassed;
  std::string message;  // why it did not pass, may have several lines; empty where it passed
  int exit_code = 0;    // what the command ends with because of this stage
  double wall_s = 0;
  std::vector<Finding> findings;
  std::vector<Figure> figures;
  std::vector<Table> tables;
  std::vector<std::string> advice;
};

/// All stages of one run.
struct RunReport {
  std::string job;
  std::string run_dir;
  std::vector<Report> stages;
};

/// The verdict and the exit code of a run are those of its first stage that did not pass.
Verdict verdict(const RunReport& run);
int exit_code(const RunReport& run);
const char* to_string(Verdict verdict);

}  // namespace trainctl::report
