// cmd_train.cpp: the long run alone, without the baseline before it.
#include "stage_command.h"

namespace trainctl::app {

void add_train(CLI::App& app, Action& action) {
  add_stage_command(app, action, "train", "train with all processes, without the baseline before it",
                    {"train"})
      ->footer("Example: trainctl train job.yaml --set launch.nproc_per_node=2");
}

}  // namespace trainctl::app
