// cmd_run.cpp: the whole way: every stage in order, then the report.
#include "stage_command.h"

namespace trainctl::app {

void add_run(CLI::App& app, Action& action) {
  add_stage_command(app, action, "run", "run a job through its stages: baseline, train", {})
      ->footer("Example: trainctl run job.yaml --set train.steps=200 --new");
}

}  // namespace trainctl::app
