// shardplan memory: does it fit, term by term.
#include <memory>

#include "cli/commands.h"

namespace shardplan {
namespace {

struct MemoryFlags {
  QuestionSpec spec;
  bool suggest = false;
  std::size_t top = 4;
};

TraceRoots memory_roots(const Estimator& estimator, const MemoryAnswer& answer) {
  const auto memory = estimator.stage_memory<Traced>(answer.plan, static_cast<int>(answer.fullest));
  TraceRoots roots;
  for (std::size_t i = 0; i < kMemoryTermCount; ++i) {
    if (value_of(memory.terms[i]) == 0) continue;
    roots.emplace_back(name(static_cast<MemoryTerm>(i)), memory.terms[i].raw().shared());
  }
  const auto state = estimator.state_total<Traced>();
  const auto usable = estimator.usable<Traced>();
  roots.emplace_back("state of the whole model", state.raw().shared());
  roots.emplace_back("usable", usable.raw().shared());
  roots.emplace_back("floor", estimator.state_floor<Traced>(state).raw().shared());
  roots.emplace_back("smallest GPU count", estimator.minimum_gpus<Traced>(state, usable).raw().shared());
  return roots;
}

bool names_a_model(const QuestionSpec& spec) {
  return spec.model || spec.preset || spec.params || spec.layers || spec.hidden || spec.heads;
}

int run_memory(MemoryFlags& flags, const Program& program) {
  flags.spec.purpose = Purpose::kMemory;
  // Alone, --explain lists the formulas that this command uses.
  if (program.explain && !names_a_model(flags.spec)) {
    program.json ? print(formula_family_json("memory.")) : print(formula_family_text("memory."));
    return kYes;
  }
  Result<Question> question = build_question(flags.spec, catalog());
  if (!question) return fail(question.error(), program);
  const Result<MemoryPlan> layout = default_memory_plan(*question);
  if (!layout) return fail(layout.error(), program);
  const Estimator estimator(question.value());
  if (const auto illegal = estimator.space().violation(layout->plan)) {
    return fail({"illegal_plan", illegal->where, "plan", "degrees that divide the model and the GPUs", ""},
                program);
  }
  const MemoryAnswer answer =
      memory_answer(estimator, layout->plan, question->fixed, flags.suggest ? flags.top : 0);
  std::vector<std::string> assumed = layout->assumed;
  assumed.insert(assumed.end(), question->assumed.begin(), question->assumed.end());
  assumed.insert(assumed.end(), question->notes.begin(), question->notes.end());
  if (program.json) {
    Json json = memory_answer_json(*question, answer, assumed);
    if (program.explain) json["explain"] = explain_json(memory_roots(estimator, answer));
    print(json);
  } else {
    print(memory_text(*question, answer, assumed));
    if (program.explain) print("\n" + explain_text(memory_roots(estimator, answer)));
  }
  const bool yes = flags.suggest ? answer.suggestions.best.has_value() : answer.fits;
  return yes ? kYes : kNo;
}

}  // namespace

void add_memory_command(CLI::App& app, Program& program) {
  CLI::App* command = app.add_subcommand("memory", "does it fit, term by term and stage by stage");
  const auto flags = std::make_shared<MemoryFlags>();
  add_question_flags(*command, flags->spec);
  command->add_flag("--suggest", flags->suggest, "list layouts that fit, fastest first");
  command->add_option("--top", flags->top, "how many to list")->check(CLI::Range(1, 1000));
  add_output_flags(*command, program, true);
  command->callback([&program, flags] { program.status = run_memory(*flags, program); });
}

}  // namespace shardplan
