// cmd_validate.cpp: prints the resolved spec of a job file, or everything that is wrong with it.
#include <fmt/format.h>

#include "commands.h"
#include "spec/load.h"

namespace trainctl::app {

namespace {

struct Options {
  std::string file;
  std::vector<std::string> sets;
  bool explain = false, json = false;
};

int validate(const Options& options) {
  const spec::LoadedJob job = spec::load_job_with_origins(options.file, options.sets);
  for (const Diagnostic& note : job.notes) fmt::print(stderr, "{}", render(note));
  const std::string text = options.json      ? spec::to_json(job)
                           : options.explain ? spec::to_yaml(job.spec, job.origins)
                                             : spec::to_yaml(job.spec);
  fmt::print("{}", text);
  return kExitDone;
}

}  // namespace

void add_validate(CLI::App& app, Action& action) {
  CLI::App* const command =
      app.add_subcommand("validate", "check a job file and print it with every key resolved");
  auto options = std::make_shared<Options>();
  command->add_option("job", options->file, "the job file (YAML)")->required();
  command
      ->add_option("--set", options->sets,
                   "key=value, such as optimizer.lr=1e-3; wins over the file; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_flag("--explain", options->explain, "add where each value comes from");
  command->add_flag("--json", options->json, "print one JSON object, with the origins");
  command->footer("Example: trainctl validate configs/quickstart.yaml --set optimizer.lr=1e-3 --explain");
  command->callback([&action, options] { action = [options] { return validate(*options); }; });
}

}  // namespace trainctl::app
