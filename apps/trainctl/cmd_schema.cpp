// cmd_schema.cpp: prints the reference of every key of a job file.
#include <fmt/format.h>

#include "commands.h"
#include "spec/load.h"
#include "util/diagnostic.h"

namespace trainctl::app {

void add_schema(CLI::App& app, Action& action) {
  CLI::App* const command =
      app.add_subcommand("schema", "print the reference of every key of a job file (Markdown)");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "print a JSON Schema (draft 2020-12) for editors instead");
  command->footer("Example: trainctl schema --json > job.schema.json");
  command->callback([&action, json] {
    action = [json] {
      fmt::print("{}", *json ? spec::schema_json() : spec::schema_markdown());
      return static_cast<int>(kExitDone);
    };
  });
}

}  // namespace trainctl::app
