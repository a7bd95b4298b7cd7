#include "cli/question_flags.h"

namespace shardplan::cli {

void add_question_flags(CLI::App& command, QuestionSpec& spec) {
  for (const QuestionFlag& flag : question_flags()) {
    command.add_option(flag.flag, spec.*flag.text, flag.help)->type_name("");
  }
}

void add_plan_flag(CLI::App& command, const PlanFlag& flag, PlanSpec& spec) {
  if (!flag.list) {
    command.add_option(flag.flag, flag.text(spec), flag.help)->type_name("");
    return;
  }
  const auto join = [&spec, text = flag.text](const std::vector<std::string>& parts) {
    std::string whole = parts.front();
    for (std::size_t i = 1; i < parts.size(); ++i) whole += "," + parts[i];
    text(spec) = whole;
  };
  command.add_option_function<std::vector<std::string>>(flag.flag, join, flag.help)
      ->type_name("")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_whole_space_flag(CLI::App& command, PlanSpec& spec) {
  command.add_flag(kWholeSpaceFlag, spec.whole_space,
                   "search also uneven first and last stages, any modules run again, tensor parallelism "
                   "without sequence parallelism, ranks in any order; slower");
}

void add_search_flags(CLI::App& command, PlanSpec& spec) {
  for (const PlanFlag& flag : search_flags()) add_plan_flag(command, flag, spec);
  add_whole_space_flag(command, spec);
}

}  // namespace shardplan::cli
