// version.h: what this program is and what it was built on (from CMake; nothing is loaded to find out).
#pragma once

#include <string>

namespace trainctl {

std::string version_text();

}  // namespace trainctl
