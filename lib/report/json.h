// json.h: reports as one JSON document, `"schema": "trainctl.report/1"` (FORMAT.md).
#pragma once

#include <string>

#include "report/report.h"

namespace trainctl::report {

/// Ends in a newline.
std::string to_json(const RunReport& run);

/// The document of a command that ended with an error before any stage: no stages, and `error`.
std::string error_json(const std::string& error, int exit_code);

}  // namespace trainctl::report
