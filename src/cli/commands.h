// The commands of the program, each in its own file. A new one: write add_..._command, list it here.
#pragma once

#include "cli/command.h"

namespace shardplan {

void add_plan_command(CLI::App& app, Program& program);
void add_memory_command(CLI::App& app, Program& program);
void add_comm_command(CLI::App& app, Program& program);
void add_drill_command(CLI::App& app, Program& program);
void add_catalog_command(CLI::App& app, Program& program);
void add_formula_commands(CLI::App& app, Program& program);  // formulas, explain

inline constexpr auto kCommands = {add_plan_command,  add_memory_command,  add_comm_command,
                                   add_drill_command, add_catalog_command, add_formula_commands};

}  // namespace shardplan
