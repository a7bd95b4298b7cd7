// shardplan compare: why one of two plans is faster, term by term.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/plan_argument.h"
#include "cli/question_flags.h"

namespace shardplan::cli {
namespace {

struct Typed {
  QuestionSpec spec;
  std::array<std::string, 2> plans;
};

int run(const Typed& typed, const Output& output) {
  if (typed.plans[0] == "-" && typed.plans[1] == "-")
    return output.error({"conflict", "standard input holds one plan", "PLAN_B", "one -", ""});
  const Result<PlanText> a = plan_argument(typed.plans[0], "PLAN_A");
  if (!a) return output.error(a.error());
  const Result<PlanText> b = plan_argument(typed.plans[1], "PLAN_B");
  if (!b) return output.error(b.error());
  const Result<ComparedPlans> asked = build_comparison(typed.spec, {*a, *b}, catalog());
  if (!asked) return output.error(asked.error());
  const Estimator estimator(asked->question);
  std::vector<std::string> assumed;
  for (std::size_t i = 0; i < asked->plans.size(); ++i) {
    const MemoryPlan& told = asked->plans[i];
    if (const auto illegal = estimator.space().violation(told.plan)) {
      Error error = illegal_plan(*illegal);
      error.where = (i == 0 ? "PLAN_A, " : "PLAN_B, ") + canonical(told.plan);
      return output.error(error);
    }
    assumed.insert(assumed.end(), told.assumed.begin(), told.assumed.end());
  }
  const Comparison comparison =
      compare(estimator, asked->plans[0].plan, asked->plans[1].plan, catalog().evidence);
  return output.answer(compare_text(asked->question, comparison, assumed),
                       compare_json(asked->question, comparison, assumed), comparison.first_is_better());
}

}  // namespace

void add_compare_command(CLI::App& app, Program& program) {
  const auto typed = std::make_shared<Typed>();
  CLI::App* command = app.add_subcommand(
      "compare",
      "why one of two plans is faster, term by term; status 0: PLAN_A fits and is no slower, 1: it is not so");
  constexpr const char* kPlan =
      "axes and degrees (tp8.pp4.dp16.z1.mb2), a file of plan --json, or - for standard input";
  command->add_option("PLAN_A", typed->plans[0], kPlan)->required();
  command->add_option("PLAN_B", typed->plans[1], "the same")->required();
  add_question_flags(*command, typed->spec);
  add_json_flag(*command, program);
  command->callback([typed, &program] { program.status = run(*typed, program.output); });
}

}  // namespace shardplan::cli
