// One report, two views.
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/json.h"
#include "report/text.h"

namespace trainctl::report {

namespace {

Report sample() {
  return {.stage = "baseline",
          .verdict = Verdict::kCheckFailed,
          .exit_code = 4,
          .wall_s = 4.25,
          .findings = {{"loss_falls", Finding::State::kNotMet, "loss falls", "3.1 -> 3.4", true},
                       {"mfu_known", Finding::State::kNotApplicable, "MFU", "no peak is known", false}},
          .figures = {{"step_ms", "step time", 61.23, "ms", "p10 60.1"}, {"mfu", "MFU", NAN, "share", ""}},
          .tables = {{"per rank",
                      {{"rank", "rank", ""}, {"rss", "peak RSS", "MB"}},
                      {{0.0, 412.0}, {std::string("x"), 7.5}}}},
          .advice = {"lower the learning rate"}};
}

}  // namespace

TEST_CASE("quantities read as people write them", "[report]") {
  CHECK(quantity(33512, "tokens/s") == "33.5k tokens/s");
  CHECK(quantity(1.2e6, "parameters") == "1.20M parameters");
  CHECK(quantity(999.6, "tokens/s") == "1.00k tokens/s");
  CHECK(quantity(0.0032, "share") == "0.32 %");
  CHECK(quantity(1, "share") == "100 %");
  CHECK(quantity(61.23, "ms") == "61.2 ms");
  CHECK(quantity(0.04, "s") == "0.04 s");
  CHECK(quantity(2.43125, "nats") == "2.4312 nats");
  CHECK(quantity(20, "") == "20");
  CHECK(quantity(NAN, "ms") == "nan ms");
}

TEST_CASE("the text is aligned and plain without colour", "[report]") {
  CHECK(to_text(sample(), false) ==
        "baseline: check failed in 4.25 s\n"
        "  NOT MET  loss falls  3.1 -> 3.4\n"
        "  n/a      MFU         no peak is known\n"
        "\n"
        "  step time  61.2 ms  p10 60.1\n"
        "  MFU        nan %\n"
        "\n"
        "  per rank\n"
        "  rank  peak RSS\n"
        "     0    412 MB\n"
        "     x   7.50 MB\n"
        "\n"
        "  advice: lower the learning rate\n");
}

TEST_CASE("colour only adds escapes", "[report]") {
  std::string text = to_text(sample(), true);
  CHECK(text.find("\033[1;31mNOT MET\033[0m") != std::string::npos);
  for (size_t at = 0; (at = text.find('\033')) != std::string::npos;)
    text.erase(at, text.find('m', at) - at + 1);
  CHECK(text == to_text(sample(), false));
}

TEST_CASE("json holds every part with its key", "[report]") {
  const auto json = nlohmann::json::parse(to_json({.job = "x", .run_dir = "runs/x", .stages = {sample()}}));
  CHECK(json["schema"] == "trainctl.report/1");
  CHECK(json["verdict"] == "check failed");
  CHECK(json["exit_code"] == 4);
  const auto& stage = json["stages"][0];
  CHECK(stage["findings"][0]["state"] == "not_met");
  CHECK(stage["findings"][1]["state"] == "not_applicable");
  CHECK(stage["figures"][0]["value"] == 61.23);
  CHECK(stage["figures"][1]["value"].is_null());
  CHECK(stage["tables"][0]["rows"][1] == nlohmann::json::parse("[\"x\", 7.5]"));
  CHECK(stage["advice"][0] == "lower the learning rate");
}

TEST_CASE("json stays valid with broken UTF-8 in a log line", "[report]") {
  Report report = sample();
  report.message = "last: \xff\xfe broken \"quotes\"\n";
  const auto json = nlohmann::json::parse(to_json({.stages = {report}}));
  CHECK(json["stages"][0]["message"].get<std::string>().ends_with("broken \"quotes\"\n"));
  CHECK(nlohmann::json::parse(error_json("no such file", 2))["error"] == "no such file");
}

TEST_CASE("a run is what its first stage that did not pass is", "[report]") {
  Report passed{.stage = "baseline"},
      stopped{.stage = "train", .verdict = Verdict::kStopped, .exit_code = 130};
  CHECK(exit_code(RunReport{.stages = {passed}}) == 0);
  CHECK(verdict(RunReport{.stages = {passed}}) == Verdict::kPassed);
  CHECK(exit_code(RunReport{.stages = {passed, stopped, sample()}}) == 130);
  CHECK(verdict(RunReport{.stages = {passed, stopped}}) == Verdict::kStopped);
}

}  // namespace trainctl::report
