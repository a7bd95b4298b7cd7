#include "cli/question_flags.h"

namespace shardplan::cli {

void add_question_flags(CLI::App& command, QuestionSpec& spec) {
  for (const QuestionFlag& flag : question_flags()) {
    command.add_option(flag.flag, spec.*flag.text, flag.help)->type_name("");
  }
}

}  // namespace shardplan::cli
