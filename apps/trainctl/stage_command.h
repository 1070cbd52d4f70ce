// stage_command.h: the options that the verbs running stages share.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "commands.h"
#include "stages/run_job.h"

namespace trainctl::app {

/// Adds the subcommand `verb job.yaml`, which runs `stages` (empty: all of them).
inline CLI::App* add_stage_command(CLI::App& app, Action& action, const std::string& verb,
                                   const std::string& help, std::vector<std::string> stages) {
  CLI::App* const command = app.add_subcommand(verb, help);
  auto options = std::make_shared<stages::RunOptions>();
  options->stages = std::move(stages);
  command->add_option("job", options->file, "the job file (YAML)")->required();
  command->add_option("--set", options->sets, "set a key of the job: key=value; may be repeated, later wins")
      ->take_all()
      ->allow_extra_args(false);
  command->add_flag("--new", options->new_dir,
                    "where the run's folder exists, take the next free numbered one");
  command->add_flag("--json", options->json,
                    "print the report as one JSON document; all else goes to stderr");
  command->add_flag("--dry-run", options->dry_run,
                    "print spec, trials, ranks and environment; start nothing");
  command->add_option("--ranks", options->ranks, "ranks whose output goes to the terminal [0]")
      ->delimiter(',');
  command->add_flag("-v,--verbose", options->verbose, "every step's line, and which process is which rank");
  command->callback([&action, options] { action = [options] { return stages::run_job(*options); }; });
  return command;
}

}  // namespace trainctl::app
