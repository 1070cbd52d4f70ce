// judge.h: single judgements that stages put together.  Pure functions of numbers.
#pragma once

#include <string>
#include <vector>

#include "report/report.h"
#include "stages/stage.h"

namespace trainctl::stages {

report::Finding finding(const char* key, const char* what, bool met, std::string evidence,
                        bool required = true);
report::Finding not_applicable(const char* key, const char* what, std::string why);

/// Does the loss fall?  Compares the mean of the last quarter of the steps with that of the first.  Met where
/// it is lower, and not met where it is higher, by more than two standard errors of that difference; within
/// them the steps are too few to tell, and the line says so.  Not applicable with fewer than 8 steps.
report::Finding loss_falls(const std::vector<StepMetrics>& steps);

report::Finding loss_is_finite(const std::vector<StepMetrics>& steps);

/// Finite everywhere and not zero everywhere.
report::Finding gradients_are_finite(const std::vector<StepMetrics>& steps);

/// The device in the result is the one that was asked for.
report::Finding device_is_used(const TrialOutcome& outcome);

report::Finding data_keeps_up(const run::TrialResult& result, double max_share);

/// Step time, throughput, MFU, data wait, first and last loss.
void add_speed_figures(const run::TrialResult& result, std::vector<report::Figure>& figures);
report::Table rank_table(const run::TrialResult& result);

}  // namespace trainctl::stages
