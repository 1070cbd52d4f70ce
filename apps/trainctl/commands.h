// commands.h: the subcommands, one cmd_<name>.cpp each: flags to a library call, no logic.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace trainctl::app {

/// What the chosen subcommand does; returns an exit code.  Throws UserError, InfraError.
using Action = std::function<int()>;

void add_validate(CLI::App& app, Action& action);
void add_schema(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_baseline(CLI::App& app, Action& action);
void add_train(CLI::App& app, Action& action);
void add_data(CLI::App& app, Action& action);
void add_generate(CLI::App& app, Action& action);
void add_worker(CLI::App& app, Action& action);  // hidden: what the launcher starts

}  // namespace trainctl::app
