#include "cli/told_layout.h"

namespace shardplan::cli {

Result<ToldLayout> told_layout(const QuestionSpec& spec) {
  Result<Question> question = build_question(spec, catalog());
  if (!question) return question.error();
  const Result<MemoryPlan> layout = default_memory_plan(*question);
  if (!layout) return layout.error();
  if (const auto illegal = Space(*question).violation(layout->plan))
    return illegal_axes(*illegal, told_axes(spec));
  std::vector<std::string> assumed = layout->assumed;
  for (const auto* more : {&question->assumed, &question->notes}) {
    assumed.insert(assumed.end(), more->begin(), more->end());
  }
  return ToldLayout{std::move(question).value(), layout->plan, assumed};
}

}  // namespace shardplan::cli
