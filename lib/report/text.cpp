#include "report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace trainctl::report {

namespace {

enum class Paint { kNone, kGreen, kRed, kDim, kBold };

class Printer {
 public:
  explicit Printer(bool color) : color_(color) {}

  std::string paint(Paint paint, const std::string& text) const {
    static constexpr const char* kCodes[] = {"", "\033[32m", "\033[1;31m", "\033[2m", "\033[1m"};
    if (!color_ || paint == Paint::kNone) return text;
    return kCodes[static_cast<int>(paint)] + text + "\033[0m";
  }

  void verdict(const Report& report) {
    const bool good = report.verdict == Verdict::kPassed;
    out_ += fmt::format("{}: {} in {}\n", paint(Paint::kBold, report.stage),
                        paint(good ? Paint::kGreen : Paint::kRed, to_string(report.verdict)),
                        quantity(report.wall_s, "s"));
    if (!report.message.empty()) out_ += report.message + (report.message.ends_with('\n') ? "" : "\n");
  }

  void findings(const std::vector<Finding>& findings) {
    size_t width = 0;
    for (const Finding& f : findings) width = std::max(width, f.what.size());
    for (const Finding& f : findings) {
      const bool met = f.state == Finding::State::kMet;
      const bool not_met = f.state == Finding::State::kNotMet;
      const std::string mark = met ? "met    " : not_met ? (f.required ? "NOT MET" : "not met") : "n/a    ";
      out_ += fmt::format("  {}  {:<{}}  {}\n",
                          paint(met       ? Paint::kGreen
                                : not_met ? Paint::kRed
                                          : Paint::kDim,
                                mark),
                          f.what, width, f.evidence);
    }
  }

  void figures(const std::vector<Figure>& figures) {
    size_t width = 0, value_width = 0;
    for (const Figure& f : figures) {
      width = std::max(width, f.label.size());
      value_width = std::max(value_width, quantity(f.value, f.unit).size());
    }
    if (!figures.empty()) out_ += "\n";
    for (const Figure& f : figures) {
      std::string line =
          fmt::format("  {:<{}}  {:<{}}  {}", f.label, width, quantity(f.value, f.unit), value_width, f.note);
      line.erase(line.find_last_not_of(' ') + 1);
      out_ += line + "\n";
    }
  }

  void table(const Table& table) {
    std::vector<std::vector<std::string>> cells(1);
    for (const Column& column : table.columns) cells[0].push_back(column.label);
    for (const auto& row : table.rows) {
      auto& line = cells.emplace_back();
      for (size_t i = 0; i < row.size(); ++i) {
        const auto* const number = std::get_if<double>(&row[i]);
        line.push_back(number != nullptr ? quantity(*number, table.columns[i].unit)
                                         : std::get<std::string>(row[i]));
      }
    }
    std::vector<size_t> widths(table.columns.size());
    for (const auto& line : cells) {
      for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
    }
    out_ += "\n  " + table.title + "\n";
    for (const auto& line : cells) {
      for (size_t i = 0; i < line.size(); ++i) out_ += fmt::format("  {:>{}}", line[i], widths[i]);
      out_ += "\n";
    }
  }

  void advice(const std::vector<std::string>& advice) {
    if (!advice.empty()) out_ += "\n";
    for (const std::string& line : advice) out_ += "  advice: " + line + "\n";
  }

  std::string take() { return std::move(out_); }

 private:
  bool color_;
  std::string out_;
};

/// Three significant digits, no exponent, no needless zeros after five digits.
std::string digits(double value) {
  const double size = std::abs(value);
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (size >= 99.95 || size == 0) return fmt::format("{:.0f}", value);
  if (size >= 9.995) return fmt::format("{:.1f}", value);
  if (size >= 0.1) return fmt::format("{:.2f}", value);
  return fmt::format("{:.2g}", value);
}

}  // namespace

std::string quantity(double value, const std::string& unit) {
  if (unit == "share") return digits(100 * value) + " %";
  if (unit == "nats") return fmt::format("{:.4f} nats", value);
  if (unit == "loss") return fmt::format("{:.4f}", value);
  if (unit.empty()) return value == std::floor(value) ? fmt::format("{:.0f}", value) : digits(value);
  std::string scaled = digits(value);
  if (unit.ends_with("/s") || unit == "parameters") {
    if (std::abs(value) >= 999.5e6) {
      scaled = digits(value / 1e9) + "G";
    } else if (std::abs(value) >= 999.5e3) {
      scaled = digits(value / 1e6) + "M";
    } else if (std::abs(value) >= 999.5) {
      scaled = digits(value / 1e3) + "k";
    }
  }
  return scaled + " " + unit;
}

std::string to_text(const Report& report, bool color) {
  Printer printer(color);
  printer.verdict(report);
  printer.findings(report.findings);
  printer.figures(report.figures);
  for (const Table& table : report.tables) printer.table(table);
  printer.advice(report.advice);
  return printer.take();
}

}  // namespace trainctl::report
