// shardplan plan: the best plan for a model on a cluster, and why.
#include <chrono>
#include <memory>

#include "cli/commands.h"

namespace shardplan {
namespace {

TraceRoots plan_roots(const Estimator& estimator, const Estimate& best) {
  const auto memory = estimator.stage_memory<Traced>(best.plan, best.fullest_stage);
  const auto time = estimator.time<Traced>(best.plan);
  TraceRoots roots;
  for (std::size_t i = 0; i < kTimeTermCount; ++i) {
    if (value_of(time.terms[i].time) == 0) continue;
    roots.emplace_back(name(static_cast<TimeTerm>(i)), time.terms[i].exposed().raw().shared());
  }
  for (std::size_t i = 0; i < kMemoryTermCount; ++i) {
    if (value_of(memory.terms[i]) == 0) continue;
    roots.emplace_back(name(static_cast<MemoryTerm>(i)), memory.terms[i].raw().shared());
  }
  return roots;
}

int run_plan(const QuestionSpec& spec, const Program& program) {
  Result<Question> question = build_question(spec, catalog());
  if (!question) return fail(question.error(), program);
  const Estimator estimator(question.value());
  if (const auto illegal = why_illegal(estimator, question->fixed)) {
    return fail({"illegal_plan", illegal->where, "plan", "axes that leave at least one legal plan", ""},
                program);
  }
  const auto start = std::chrono::steady_clock::now();
  SearchResult result = search(estimator, question->fixed);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  const SearchTime time{spent.count()};
  const Answer found = answer(estimator, question->fixed, std::move(result));
  const auto& best = found.result.best;
  if (program.json) {
    Json json = plan_answer_json(*question, found, time);
    if (program.explain && best) json["explain"] = explain_json(plan_roots(estimator, *best));
    print(json);
  } else {
    print(plan_text(*question, found, time));
    if (program.explain && best) print("\n" + explain_text(plan_roots(estimator, *best)));
  }
  return best ? kYes : kNo;
}

}  // namespace

void add_plan_command(CLI::App& app, Program& program) {
  CLI::App* command = app.add_subcommand("plan", "the best plan for a model on a cluster, and why");
  const auto spec = std::make_shared<QuestionSpec>();
  add_question_flags(*command, *spec);
  add_output_flags(*command, program, true);
  command->callback([&program, spec] { program.status = run_plan(*spec, program); });
}

}  // namespace shardplan
