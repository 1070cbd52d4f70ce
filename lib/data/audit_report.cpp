// audit_report.cpp: what an audit found, for people and for programs.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/audit.h"

namespace trainctl::data {

namespace {

/// 5057198 as "5,057,198".
std::string grouped(uint64_t number) {
  return number < 1000 ? fmt::to_string(number)
                       : fmt::format("{},{:03}", grouped(number / 1000), number % 1000);
}

std::string plural(int64_t count, const char* thing) {
  return fmt::format("{} {}{}", grouped(static_cast<uint64_t>(count)), thing, count == 1 ? "" : "s");
}

int64_t count_of(const AuditReport& report, Severity severity) {
  return std::count_if(report.diagnostics.begin(), report.diagnostics.end(),
                       [&](const auto& d) { return d.severity == severity; });
}

double mb(uint64_t bytes) { return static_cast<double>(bytes) / 1e6; }

}  // namespace

std::string to_text(const AuditReport& report) {
  std::string text = fmt::format("{}, {:.1f} MB", plural(report.num_files, "file"), mb(report.size_bytes));
  if (report.num_tokens > 0) text += fmt::format(", {} tokens", grouped(report.num_tokens));
  if (report.num_skipped > 0) text += fmt::format(", {} skipped", report.num_skipped);
  text += "\n";
  if (report.counted) {
    text += fmt::format("{} to train on, {} an epoch; {} held out\n", plural(report.train_samples, "sample"),
                        grouped(static_cast<uint64_t>(report.samples_per_epoch)),
                        grouped(static_cast<uint64_t>(report.held_out_samples)));
  } else {
    text += "samples not counted: the text is tokenised by the full check, or when a run begins\n";
  }
  text +=
      fmt::format("looked at {:.1f} MB in {:.3f} s ({:.2f} GB/s)\n", mb(report.checked_bytes), report.seconds,
                  report.seconds > 0 ? mb(report.checked_bytes) / 1e3 / report.seconds : 0.0);
  text += fmt::format("{}: {}, {}\n", report.ok() ? "ok" : "not ok",
                      plural(count_of(report, Severity::kError), "error"),
                      plural(count_of(report, Severity::kWarning), "warning"));
  return text;
}

std::string to_json(const AuditReport& report) {
  nlohmann::ordered_json findings = nlohmann::ordered_json::array();
  for (const auto& d : report.diagnostics) {
    const char* const severity = d.severity == Severity::kError     ? "error"
                                 : d.severity == Severity::kWarning ? "warning"
                                                                    : "note";
    findings.push_back({{"severity", severity}, {"file", d.at.file}, {"what", d.what}, {"help", d.help}});
  }
  const nlohmann::ordered_json object{{"schema", "trainctl.data_check/1"},
                                      {"ok", report.ok()},
                                      {"level", report.level == spec::AuditLevel::kFull      ? "full"
                                                : report.level == spec::AuditLevel::kSampled ? "sampled"
                                                                                             : "off"},
                                      {"list_hash", report.list_hash},
                                      {"files", report.num_files},
                                      {"skipped", report.num_skipped},
                                      {"size_bytes", report.size_bytes},
                                      {"checked_bytes", report.checked_bytes},
                                      {"tokens", report.num_tokens},
                                      {"counted", report.counted},
                                      {"train_samples", report.train_samples},
                                      {"samples_per_epoch", report.samples_per_epoch},
                                      {"held_out_samples", report.held_out_samples},
                                      {"seconds", report.seconds},
                                      {"findings", findings}};
  // replace: paths need not be UTF-8
  return object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace trainctl::data
