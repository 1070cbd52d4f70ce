#include "util/diagnostic.h"

#include <algorithm>

namespace trainctl {

namespace {

std::string joined(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& d : diagnostics) text += render(d);
  return text;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

std::string folded(std::string_view name) {
  std::string out(name);
  for (char& c : out) c = c == '-' ? '_' : static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return out;
}

}  // namespace

UserError::UserError(std::vector<Diagnostic> diagnostics)
    : diagnostics_(std::move(diagnostics)), text_(joined(diagnostics_)) {}

UserError::UserError(Diagnostic diagnostic) : UserError(std::vector<Diagnostic>{std::move(diagnostic)}) {}

UserError::UserError(std::string what, std::string help)
    : UserError(Diagnostic{.at = {}, .what = std::move(what), .help = std::move(help), .source_line = {}}) {}

InfraError::InfraError(std::string what, std::string help) : what_(std::move(what)), help_(std::move(help)) {}

std::string render(const Diagnostic& d, bool color) {
  const char* const name = d.severity == Severity::kError     ? "error"
                           : d.severity == Severity::kWarning ? "warning"
                                                              : "note";
  const char* const paint = d.severity == Severity::kError ? "\033[1;31m" : "\033[1;33m";
  std::string text;
  if (!d.at.file.empty()) {
    text += d.at.file;
    if (d.at.line > 0) text += ":" + std::to_string(d.at.line);
    if (d.at.line > 0 && d.at.column > 0) text += ":" + std::to_string(d.at.column);
    text += ": ";
  }
  text += color ? std::string(paint) + name + ":\033[0m " : std::string(name) + ": ";
  text += d.what + "\n";
  if (!d.source_line.empty() && d.at.line > 0) {
    const std::string number = std::to_string(d.at.line);
    text +=
        std::string(number.size() < 5 ? 5 - number.size() : 0, ' ') + number + " | " + d.source_line + "\n";
    if (d.at.column > 0) {
      // The caret lines up on screen: tabs are repeated, UTF-8 continuation bytes take no room.
      std::string pad;
      for (int i = 0; i + 1 < d.at.column && i < static_cast<int>(d.source_line.size()); ++i) {
        const auto byte = static_cast<unsigned char>(d.source_line[static_cast<size_t>(i)]);
        if ((byte & 0xC0U) != 0x80U) pad += byte == '\t' ? '\t' : ' ';
      }
      text += "      | " + pad + (color ? "\033[1;32m^\033[0m" : "^") + "\n";
    }
  }
  if (!d.help.empty()) text += "  help: " + d.help + "\n";
  return text;
}

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string wanted = folded(name);
  std::string best;
  size_t best_distance = std::max<size_t>(1, wanted.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(wanted, folded(candidate));
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace trainctl
