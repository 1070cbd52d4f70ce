// cmd_baseline.cpp: the first stage alone.
#include "stage_command.h"

namespace trainctl::app {

void add_baseline(CLI::App& app, Action& action) {
  add_stage_command(app, action, "baseline",
                    "measure one process: does the model train, how fast, is it repeatable", {"baseline"})
      ->footer("Example: trainctl baseline job.yaml --set baseline.steps=50");
}

}  // namespace trainctl::app
