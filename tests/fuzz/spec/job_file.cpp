// A job file of any bytes gives a spec or a UserError.  A line `--set WORD` at the end of the input is an
// option.
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "spec/load.h"

namespace {

using namespace trainctl;  // NOLINT: one screen

// What loads must print a text that loads to the same text.
void check(const std::string& text, const std::vector<std::string>& sets) {
  spec::LoadedJob job;
  try {
    job = spec::load_job_text(text, "/nowhere/job.yaml", sets);
  } catch (const UserError& error) {
    if (error.diagnostics().empty()) throw std::logic_error("a UserError without a diagnostic");
    return;
  }
  const std::string yaml = spec::to_yaml(job.spec);
  if (spec::to_yaml(spec::load_job_text(yaml, "/elsewhere/job.yaml").spec) != yaml) {
    throw std::logic_error("printed text loads to another spec:\n" + yaml);
  }
  if (spec::to_json(job).empty()) throw std::logic_error("no JSON");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  static constexpr std::string_view kMark = "\n--set ";
  std::vector<std::string> sets;
  const size_t first = input.find(kMark);
  for (size_t at = first; at != std::string::npos;) {
    const size_t next = input.find(kMark, at + 1);
    sets.push_back(
        input.substr(at + kMark.size(), next == std::string::npos ? next : next - at - kMark.size()));
    at = next;
  }
  check(input.substr(0, first == std::string::npos ? first : first + 1), sets);
  return 0;
}
