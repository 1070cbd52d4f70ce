// validate.h: what must hold between keys.
#pragma once

#include <set>
#include <string>

#include "spec/describe.h"
#include "spec/load.h"
#include "spec/problems.h"

namespace trainctl::spec {

/// Where each key's value comes from, for messages that name several keys.
struct Sources {
  const Origins& origins;
  const std::set<std::string, std::less<>>&
      broken;      // keys whose value could not be read: checks leave them alone
  SourcePos file;  // named where no key has a position
};

/// Reports keys that were given but mean nothing beside the others (`num_kv_heads` of a resnet).
void check_applies(const JobSpec& spec, const std::vector<Field>& fields, const Sources& sources,
                   Problems& problems);

/// Reports contradictions between keys, and keys that the chosen model or data need.
void check_together(const JobSpec& spec, const Sources& sources, Problems& problems);

}  // namespace trainctl::spec
