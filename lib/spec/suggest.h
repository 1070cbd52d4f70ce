// suggest.h: what a user may have meant by a key that does not exist.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/describe.h"

namespace trainctl::spec {

/// Help for the unknown key `path` ("train.learning-rate"): a key of another name, the nearest in its
/// section, then the nearest anywhere.
std::string suggest_key(std::string_view path, const std::vector<Field>& fields);

}  // namespace trainctl::spec
