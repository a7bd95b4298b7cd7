// shardplan why-not: why the best plan is not another one.
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/plan_argument.h"
#include "cli/question_flags.h"
#include "cli/search_progress.h"

namespace shardplan::cli {
namespace {

struct Typed {
  PlanSpec spec;
  std::string what;
};

int run(const Typed& typed, const Output& output) {
  const Result<PlanText> kind = plan_argument(typed.what, "WHAT");
  if (!kind) return output.error(kind.error());
  const Result<AskedKind> asked = build_why_not(typed.spec, *kind, catalog());
  if (!asked) return output.error(asked.error());
  const Question& question = asked->question;
  if (const auto illegal = why_illegal(question, question.fixed))
    return output.error(illegal_axes(question, question.fixed, *illegal, asked->told));
  SearchProgress progress;
  const Estimator estimator(question);
  const WhyNot why = kind->whole ? why_not(estimator, question.fixed, asked->kind.as_plan(),
                                           asked->kind.spelled, &progress.watch(), catalog().evidence)
                                 : why_not(estimator, question.fixed, asked->with, asked->kind.spelled,
                                           &progress.watch(), catalog().evidence);
  const int status = output.answer(why_not_text(question, why), why_not_json(question, why), why.as_good);
  // Nobody knows whether there is one as good.
  return status == kNo && why.stopped() ? kInterrupted : status;
}

}  // namespace

void add_why_not_command(CLI::App& app, Program& program) {
  const auto typed = std::make_shared<Typed>();
  CLI::App* command = app.add_subcommand(
      "why-not",
      "why the best plan is not one with given axes; status 0: one with them is as good, 1: none is");
  command
      ->add_option(
          "WHAT", typed->what,
          "axes of plans (tp16, zero3, cp2.ep8), a whole plan, a file of plan --json, or - for standard input")
      ->required();
  add_question_flags(*command, typed->spec.question);
  add_search_flags(*command, typed->spec);
  add_json_flag(*command, program);
  command->callback([typed, &program] { program.status = run(*typed, program.output); });
}

}  // namespace shardplan::cli
