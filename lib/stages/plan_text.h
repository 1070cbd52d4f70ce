// plan_text.h: what `--dry-run` prints.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "run/job.h"
#include "stages/stage.h"

namespace trainctl::stages {

/// The resolved spec, then each trial with its command, and each rank with its environment.
std::string plan_text(const run::Job& job, std::span<const Stage* const> stages);
/// The same as one JSON document, `"schema": "trainctl.plan/1"`.
std::string plan_json(const run::Job& job, std::span<const Stage* const> stages);

}  // namespace trainctl::stages
