#include "report/report.h"

#include <algorithm>

namespace trainctl::report {

namespace {

const Report* first_not_passed(const RunReport& run) {
  const auto it = std::find_if(run.stages.begin(), run.stages.end(),
                               [](const Report& r) { return r.verdict != Verdict::kPassed; });
  return it == run.stages.end() ? nullptr : &*it;
}

}  // namespace

Verdict verdict(const RunReport& run) {
  const Report* const report = first_not_passed(run);
  return report == nullptr ? Verdict::kPassed : report->verdict;
}

int exit_code(const RunReport& run) {
  const Report* const report = first_not_passed(run);
  return report == nullptr ? 0 : report->exit_code;
}

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed:
      return "passed";
    case Verdict::kCheckFailed:
      return "check failed";
    case Verdict::kFailed:
      return "failed";
    case Verdict::kStopped:
      return "stopped";
  }
  return "";
}

}  // namespace trainctl::report
