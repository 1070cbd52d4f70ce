// typing.h: from the text of one value to its type, as the field table says.
#pragma once

#include <optional>

#include "spec/assignments.h"
#include "spec/describe.h"
#include "spec/problems.h"
#include "spec/scalar.h"

namespace trainctl::spec {

/// The typed value of `field`: variables expanded, limits checked, paths absolute.  Reports what is wrong and
/// returns nullopt then.
std::optional<Value> read_value(const Field& field, const Assignment& given, const Environment& environment,
                                Problems& problems);

/// Reports paths of `field` (a TextRole of existing things) that lead to nothing.
void check_paths(const Field& field, const Assignment& given, Problems& problems);

}  // namespace trainctl::spec
