#include <algorithm>

#include "cli/commands.h"
#include "cli/usage.h"

namespace shardplan::cli {

void add_json_flag(CLI::App& command, Program& program) {
  command.add_flag_callback(
      "--json", [&program] { program.output.use_json(true); }, "the same as JSON, in SI base units");
}

}  // namespace shardplan::cli

int main(int argc, char** argv) {
  using namespace shardplan::cli;
  CLI::App app{"Plans the training and serving of large transformers on many GPUs."};
  Program program;
  app.set_version_flag("--version", std::string("shardplan ") + SHARDPLAN_VERSION);
  app.require_subcommand(1);
  for (const auto add : kCommands) add(app, program);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& failure) {
    // Help and version are exceptions to CLI11, but no errors.
    if (failure.get_exit_code() == 0) return app.exit(failure);
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    program.output.use_json(std::find(arguments.begin(), arguments.end(), "--json") != arguments.end());
    return program.output.error(usage_error(app, arguments, failure));
  }
  return program.status;
}
