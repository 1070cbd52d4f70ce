// assignments.h: which key gets which text: the file's keys, then those of --set, later wins.  Still untyped.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "spec/describe.h"
#include "spec/document.h"
#include "spec/load.h"
#include "spec/problems.h"

namespace trainctl::spec {

struct Assignment {
  Node value;
  Origin origin;
  std::filesystem::path base;  // relative paths start here
};

using Assignments = std::map<std::string, Assignment, std::less<>>;  // by key, "optimizer.lr"

/// Adds the keys of a file; reports unknown ones and sections that are no maps.
void assign_document(const Document& document, const std::vector<Field>& fields,
                     const std::filesystem::path& base, Assignments& out, Problems& problems);

/// Adds `--set` options ("optimizer.lr=1e-3"), counted from 1 in messages; a key set twice gives a note.
void assign_sets(const std::vector<std::string>& sets, const std::vector<Field>& fields, Assignments& out,
                 Problems& problems, std::vector<Diagnostic>& notes);

}  // namespace trainctl::spec
