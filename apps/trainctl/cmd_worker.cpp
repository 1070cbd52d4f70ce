// cmd_worker.cpp: what the launcher starts, once per rank: loads the engine and runs one trial.
#include "commands.h"
#include "engine.h"

namespace trainctl::app {

void add_worker(CLI::App& app, Action& action) {
  CLI::App* const command = app.add_subcommand("worker", "run one rank of a trial (started by the launcher)");
  command->group("");  // hidden
  auto dir = std::make_shared<std::string>();
  command->add_option("trial", *dir, "the trial's folder")->required();
  command->callback([&action, dir] { action = [dir] { return call_engine("worker", *dir); }; });
}

}  // namespace trainctl::app
