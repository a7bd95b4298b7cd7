// The program: parses the command line, hands each command its flags, turns errors into exit statuses.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "cli/commands.h"

namespace {

using shardplan::Error;

/// Names that could have been meant: flags of the command that was named, or the commands.
std::vector<std::string> known_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  for (const CLI::App* command : app.get_subcommands()) {
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    for (const std::string& name : known_names(*command)) names.push_back(name);
  }
  return names;
}

/// The first argument that no command took.
std::string unknown_argument(const std::string& message) {
  const std::size_t at = message.find(": ");
  const std::string rest = at == std::string::npos ? message : message.substr(at + 2);
  return rest.substr(0, rest.find(' '));
}

Error usage_error(const CLI::App& app, const CLI::ParseError& error) {
  std::string message = error.what();
  std::replace(message.begin(), message.end(), '\n', ' ');
  Error result{"usage", message, "command line",
               "shardplan --help lists the commands, shardplan COMMAND --help its flags", ""};
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    const std::string unknown = unknown_argument(message);
    result.code = "unknown_flag";
    result.message = "unknown argument " + unknown;
    result.where = unknown;
    result.nearest = shardplan::nearest_name(unknown, known_names(app));
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"shardplan: how to shard the training of a large transformer, and why"};
  app.set_version_flag("--version", std::string("shardplan ") + SHARDPLAN_VERSION);
  app.require_subcommand(1);
  shardplan::Program program;
  for (const auto add : shardplan::kCommands) add(app, program);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    program.json = std::find(argv, argv + argc, std::string("--json")) != argv + argc;
    return shardplan::fail(usage_error(app, error), program);
  }
  return program.status;
}
