#include "spec/problems.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace trainctl::spec {

void Problems::add(SourcePos at, std::string what, std::string help) {
  std::string line = crowded() ? "" : document_.line(at.line);
  all_.push_back({std::move(at), std::move(what), std::move(help), std::move(line)});
}

void Problems::add(const UserError& error) {
  all_.insert(all_.end(), error.diagnostics().begin(), error.diagnostics().end());
}

void Problems::throw_if_any() {
  if (all_.empty()) return;
  const auto key = [](const Diagnostic& d) {
    const bool of_set = d.at.file.starts_with("--set");
    return std::tuple(of_set, of_set ? d.at.file.size() : 0, of_set ? d.at.file : "", d.at.line, d.at.column);
  };
  std::stable_sort(all_.begin(), all_.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  if (all_.size() > kMostShown) {
    const size_t left_out = all_.size() - kMostShown;
    all_.resize(kMostShown);
    all_.push_back({.at = {},
                    .what = fmt::format("{} more mistakes are not shown", left_out),
                    .help = "",
                    .source_line = ""});
  }
  throw UserError(std::move(all_));
}

}  // namespace trainctl::spec
