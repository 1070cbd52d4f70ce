// engine.h: the door in the torch wall, seen from control.
#pragma once

#include <string>

namespace trainctl::app {

/// Loads libtrainctl_engine.so from the prefix of this executable and calls it (run/engine_entry.h).
/// Throws InfraError where it cannot be loaded.
int call_engine(const std::string& verb, const std::string& argument);

}  // namespace trainctl::app
