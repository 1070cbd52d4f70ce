// main.cpp: the command line.  Parses, runs the chosen subcommand, turns errors into text and exit codes.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>

#include "commands.h"
#include "util/diagnostic.h"
#include "version.h"

namespace {

using trainctl::app::Action;

constexpr void (*kCommands[])(CLI::App&, Action&) = {
#include "command_table.inc"
};

bool color_on_stderr() {
  const char* const term = std::getenv("TERM");
  return std::getenv("NO_COLOR") == nullptr && term != nullptr && std::string_view(term) != "dumb" &&
         isatty(STDERR_FILENO) == 1;
}

int run_guarded(const Action& action) {
  try {
    return action();
  } catch (const trainctl::UserError& error) {
    for (const auto& d : error.diagnostics()) fmt::print(stderr, "{}", render(d, color_on_stderr()));
    return trainctl::kExitUser;
  } catch (const trainctl::InfraError& error) {
    fmt::print(stderr, "{}",
               trainctl::render({.what = error.what(), .help = error.help()}, color_on_stderr()));
    return trainctl::kExitInfra;
  } catch (const std::exception& error) {
    fmt::print(
        stderr, "{}",
        trainctl::render({.what = fmt::format("internal error: {}", error.what()),
                          .help = "this is a bug in trainctl; please report it with the command and the "
                                  "output of `trainctl --version`"},
                         color_on_stderr()));
    return trainctl::kExitBug;
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"trainctl: a training launcher that measures each step before it takes the next", "trainctl"};
  app.footer("Example: trainctl run configs/quickstart.yaml");
  app.require_subcommand(1);
  app.set_version_flag("--version", trainctl::version_text(),
                       "versions of trainctl and of what it is built on");
  Action action;
  for (const auto add : kCommands) add(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11's own codes start at 100; help and version are no errors.
    return app.exit(error) == 0 ? trainctl::kExitDone : trainctl::kExitUser;
  }
  return run_guarded(action);
}
