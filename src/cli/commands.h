// The commands of the program. Each lives in a file of its own; this is the one list of them.
//
// To add one: NAME_command.cpp with
//
//   void add_name_command(CLI::App& app, Program& program) {
//     auto spec = std::make_shared<NameSpec>();                        // texts as typed
//     CLI::App* command = app.add_subcommand("name", "what it answers");
//     add_json_flag(*command, program);
//     command->callback([spec, &program] { program.status = run(*spec, program.output); });
//   }
//
// where run() builds the question, calls the library and hands text and JSON to Output (output.h); then its
// declaration and its place in kCommands below, and a golden case. Not here: formulas, defaults, checks of
// values (the library's).
#pragma once

#include <CLI/CLI.hpp>

#include "cli/output.h"

namespace shardplan::cli {

/// What the commands share.
struct Program {
  Output output;
  int status = kYes;
};

void add_plan_command(CLI::App& app, Program& program);
void add_compare_command(CLI::App& app, Program& program);
void add_why_not_command(CLI::App& app, Program& program);
void add_sweep_command(CLI::App& app, Program& program);
void add_memory_command(CLI::App& app, Program& program);
void add_oom_command(CLI::App& app, Program& program);
void add_comm_command(CLI::App& app, Program& program);
void add_serve_command(CLI::App& app, Program& program);
void add_drill_command(CLI::App& app, Program& program);
void add_explain_command(CLI::App& app, Program& program);
void add_formulas_command(CLI::App& app, Program& program);
void add_catalog_command(CLI::App& app, Program& program);
void add_validate_command(CLI::App& app, Program& program);

/// In the order of the help page.
inline constexpr void (*kCommands[])(CLI::App& app, Program& program) = {
    add_plan_command,     add_compare_command, add_why_not_command,  add_sweep_command, add_memory_command,
    add_oom_command,      add_comm_command,    add_serve_command,    add_drill_command, add_explain_command,
    add_formulas_command, add_catalog_command, add_validate_command,
};

/// --json, which every command has.
void add_json_flag(CLI::App& command, Program& program);

}  // namespace shardplan::cli
