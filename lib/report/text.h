// text.h: a report for the terminal: aligned, colour only where asked for.
#pragma once

#include <string>

#include "report/report.h"

namespace trainctl::report {

std::string to_text(const Report& report, bool color);

/// A number as people read it: 33.5k tokens/s, 0.3 %, 61.2 ms.  Three significant digits at least.
std::string quantity(double value, const std::string& unit);

}  // namespace trainctl::report
