// shardplan oom: what an out-of-memory message says, and what would make room.
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/question_flags.h"
#include "cli/standard_input.h"
#include "cli/told_layout.h"

namespace shardplan::cli {
namespace {

struct Typed {
  std::string text;
  QuestionSpec spec;
};

/// No message is one word with a slash or the ending of a file.
bool looks_like_a_path(const std::string& typed) {
  if (typed.empty() || typed.find_first_of(" \t\r\n") != std::string::npos) return false;
  return typed.find('/') != std::string::npos || typed.ends_with(".log") || typed.ends_with(".txt");
}

/// A file where there is one of that name or where it is meant to be one, else the text itself.
Result<OutOfMemory> message_of(const std::string& typed) {
  std::error_code none;
  const bool file = typed != "-" && (std::filesystem::exists(typed, none) || looks_like_a_path(typed));
  if (typed != "-" && !file) return read_out_of_memory(typed, "oom");
  const Result<std::string> text =
      file ? read_text_file(typed, kLogBytesMax) : standard_input(kLogBytesMax, "oom");
  if (!text) return text.error();
  return read_out_of_memory(*text, file ? typed : "standard input");
}

bool tells_a_run(const QuestionSpec& spec) {
  for (const QuestionFlag& flag : question_flags()) {
    if (spec.*flag.text) return true;
  }
  return false;
}

int run(Typed& typed, const Output& output) {
  const Result<OutOfMemory> message = message_of(typed.text);
  if (!message) return output.error(message.error());
  if (!tells_a_run(typed.spec)) {
    const OomAnswer alone = oom_answer(*message);
    return output.answer(oom_text(alone, {}), oom_json(alone, {}), alone.solved());
  }
  typed.spec.purpose = Purpose::kRun;
  const Result<ToldLayout> told = told_layout(typed.spec);
  if (!told) return output.error(told.error());
  const Estimator estimator(told->question);
  const OomAnswer answer = oom_answer(*message, estimator, told->plan, catalog().quantized_bases);
  return output.answer(oom_text(answer, told->assumed), oom_json(answer, told->assumed), answer.solved());
}

}  // namespace

void add_oom_command(CLI::App& app, Program& program) {
  const auto typed = std::make_shared<Typed>();
  CLI::App* command = app.add_subcommand("oom", "an out-of-memory message: which tensor, why, what helps");
  command->add_option("TEXT", typed->text, "the message, a file that holds it, or - for standard input")
      ->required();
  add_question_flags(*command, typed->spec);
  add_json_flag(*command, program);
  command->callback([typed, &program] { program.status = run(*typed, program.output); });
}

}  // namespace shardplan::cli
