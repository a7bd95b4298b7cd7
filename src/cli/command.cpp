#include "cli/command.h"

#include <cstdio>

namespace shardplan {

void add_output_flags(CLI::App& command, Program& program, bool explains) {
  command.add_flag("--json", program.json, "print JSON (SI base units) instead of text");
  if (explains)
    command.add_flag("--explain", program.explain, "print every formula used, with the numbers in it");
}

void print(const std::string& text) { std::fputs(text.c_str(), stdout); }
void print(const Json& json) { print(json.dump(2) + "\n"); }

int fail(const Error& error, const Program& program) {
  std::string line = "shardplan: " + (error.where.empty() ? "" : error.where + ": ") + error.message;
  if (!error.expected.empty()) line += "; expected " + error.expected;
  if (!error.nearest.empty()) line += "; nearest: " + error.nearest;
  std::fputs((line + "\n").c_str(), stderr);
  if (program.json) {
    print(Json{{"schema_version", kSchemaVersion},
               {"error",
                {{"code", error.code},
                 {"message", error.message},
                 {"where", error.where},
                 {"expected", error.expected},
                 {"nearest", error.nearest}}}});
  }
  return kBadInput;
}

void add_question_flags(CLI::App& command, QuestionSpec& spec) {
  for (const QuestionFlag& flag : question_flags()) {
    command.add_option(flag.flag, spec.*flag.text, flag.help)->group("Question");
  }
}

}  // namespace shardplan
