// problems.h: mistakes of a job file, collected so that all show at once.
#pragma once

#include <string>
#include <vector>

#include "spec/document.h"
#include "util/diagnostic.h"

namespace trainctl::spec {

class Problems {
 public:
  /// `document` gives the lines that messages show; it must outlive this.
  explicit Problems(const Document& document) : document_(document), all_(document.problems()) {}

  void add(SourcePos at, std::string what, std::string help);
  void add(const UserError& error);
  /// So many that nobody reads more; expensive suggestions can be left out.
  bool crowded() const { return all_.size() >= kMostShown; }
  /// Throws UserError where there are any: the file's by position, then those of --set.
  void throw_if_any();

 private:
  static constexpr size_t kMostShown = 50;
  const Document& document_;
  std::vector<Diagnostic> all_;
};

}  // namespace trainctl::spec
