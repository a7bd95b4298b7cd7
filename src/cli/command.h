// What every command of the program shares: output mode, errors, exit status.
//
//   void add_plan_command(CLI::App& app, Program& program) {
//     auto* command = app.add_subcommand("plan", "...");
//     auto spec = std::make_shared<QuestionSpec>();
//     add_question_flags(*command, *spec);
//     add_output_flags(*command, program);
//     command->callback([&program, spec] { program.status = run_plan(*spec, program); });
//   }
//
// A command parses, calls the library, prints. No formula and no default value lives here.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "shardplan/shardplan.h"

namespace shardplan {

enum ExitStatus { kYes = 0, kNo = 1, kBadInput = 2 };

struct Program {
  bool json = false;
  bool explain = false;
  int status = kYes;
};

/// --json, and --explain where the command has a computation to explain.
void add_output_flags(CLI::App& command, Program& program, bool explains = false);

/// Prints to standard output.
void print(const std::string& text);
void print(const Json& json);

/// One line on standard error, the same as JSON on standard output with --json. Returns kBadInput.
int fail(const Error& error, const Program& program);

/// Every flag of the shared question.
void add_question_flags(CLI::App& command, QuestionSpec& spec);

}  // namespace shardplan
