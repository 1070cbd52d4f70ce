// main.cpp: the command line.  Parses, runs the chosen subcommand, turns errors into text and exit codes.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <system_error>
#include <vector>

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

/// CLI11 would only say that a subcommand is required.
void check_subcommand(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == argv[1]) return;
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  const std::string near = trainctl::nearest(argv[1], names);
  throw trainctl::UserError(fmt::format("there is no subcommand `{}`", argv[1]),
                            near.empty() ? fmt::format("use one of {}", fmt::join(names, ", "))
                                         : fmt::format("did you mean `trainctl {}`?", near));
}

/// CLI11 reads 010 as 8; here as in a job file, a number with a leading zero is refused.
void refuse_octal(CLI::App& app) {
  const auto check = [](const std::string& text) {
    const std::string digits = text.substr(text.find_first_not_of("+-") == 1 ? 1 : 0);
    return digits.size() > 1 && digits[0] == '0' &&
                   digits.find_first_not_of("0123456789") == std::string::npos
               ? "`" + text + "` has a leading zero; write the number without it"
               : std::string();
  };
  for (CLI::App* command : app.get_subcommands({})) {
    refuse_octal(*command);
    for (CLI::Option* option : command->get_options()) {
      const std::string type = option->get_type_name();
      if (type.rfind("INT", 0) == 0 || type.rfind("UINT", 0) == 0) {
        option->check(CLI::Validator(check, "", "decimal"));
      }
    }
  }
}

int run_guarded(const Action& action) {
  try {
    const int code = action();
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      throw trainctl::InfraError(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
    }
    return code;
  } catch (const trainctl::UserError& error) {
    for (const auto& d : error.diagnostics()) fmt::print(stderr, "{}", render(d, color_on_stderr()));
    return trainctl::kExitUser;
  } catch (const trainctl::InfraError& error) {
    fmt::print(stderr, "{}",
               trainctl::render({.what = error.what(), .help = error.help()}, color_on_stderr()));
    return trainctl::kExitInfra;
  } catch (const std::system_error& error) {  // of the file system, or fmt's where it cannot write
    fmt::print(stderr, "{}", trainctl::render({.what = error.what()}, color_on_stderr()));
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

/// A file opened later must not become standard output, input or error because that one was closed.
void fill_standard_streams() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0)
      ::open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);  // takes the lowest free number
  }
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_streams();
  CLI::App app{"trainctl: a training launcher that measures each step before it takes the next", "trainctl"};
  app.footer("Example: trainctl run configs/quickstart.yaml");
  app.require_subcommand(1);
  app.set_version_flag("--version", trainctl::version_text(),
                       "versions of trainctl and of what it is built on");
  Action action;
  for (const auto add : kCommands) add(app, action);
  refuse_octal(app);
  const int checked = run_guarded([&] {
    check_subcommand(app, argc, argv);
    return trainctl::kExitDone;
  });
  if (checked != trainctl::kExitDone) return checked;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11's own codes start at 100; help and version are no errors.
    return app.exit(error) == 0 ? trainctl::kExitDone : trainctl::kExitUser;
  }
  return run_guarded(action);
}
