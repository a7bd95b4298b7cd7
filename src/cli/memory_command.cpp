// shardplan memory: does it fit, term by term.
#include <memory>

#include "cli/commands.h"
#include "cli/question_flags.h"
#include "cli/told_layout.h"

namespace shardplan::cli {
namespace {

constexpr std::size_t kSuggestions = 4;

struct Typed {
  QuestionSpec spec;
  bool suggest = false;
  bool explain = false;
  std::optional<std::size_t> top;
};

TraceRoots memory_roots(const Estimator& estimator, const MemoryAnswer& answer) {
  const auto memory = estimator.stage_memory<Traced>(answer.plan, static_cast<int>(answer.memory.fullest));
  TraceRoots roots;
  for (std::size_t i = 0; i < kMemoryTermCount; ++i) {
    if (value_of(memory.terms[i]) == 0) continue;
    roots.emplace_back(name(static_cast<MemoryTerm>(i)), memory.terms[i].raw().shared());
  }
  const auto host = estimator.host_memory<Traced>(answer.plan, static_cast<int>(answer.memory.fullest));
  for (const auto& [what, size] : {std::pair{"optimizer state in host memory", &host.optimizer},
                                   {"gradients in host memory", &host.gradients},
                                   {"weights in host memory", &host.weights},
                                   {"activations in host memory", &host.activations}}) {
    if (value_of(*size) != 0) roots.emplace_back(what, size->raw().shared());
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

int run(Typed& typed, const Output& output) {
  typed.spec.purpose = Purpose::kMemory;
  // Alone, --explain lists the formulas that this command uses.
  if (typed.explain && !names_a_model(typed.spec)) {
    const auto family = {std::string_view("memory."), std::string_view("pipeline.in_flight")};
    return output.answer(formula_family_text(family), formula_family_json(family));
  }
  const Result<ToldLayout> told = told_layout(typed.spec);
  if (!told) return output.error(told.error());
  const Estimator estimator(told->question);
  const bool suggest = typed.suggest || typed.top.has_value();
  const MemoryAnswer answer = memory_answer(estimator, told->plan, told->question.fixed,
                                            suggest ? typed.top.value_or(kSuggestions) : 0,
                                            catalog().evidence, catalog().quantized_bases);
  std::string text = memory_text(told->question, answer, told->assumed);
  Json json = memory_answer_json(told->question, answer, told->assumed);
  if (typed.explain) {
    const TraceRoots roots = memory_roots(estimator, answer);
    text += "\n" + explain_text(roots);
    json["explanation"] = explain_json(roots);
  }
  return output.answer(text, json, suggest ? answer.suggestions.best.has_value() : answer.fits);
}

}  // namespace

void add_memory_command(CLI::App& app, Program& program) {
  const auto typed = std::make_shared<Typed>();
  CLI::App* command = app.add_subcommand("memory", "does it fit, term by term and stage by stage");
  add_question_flags(*command, typed->spec);
  command->add_flag("--suggest", typed->suggest, "list layouts that fit, fastest first");
  command->add_option("--top", typed->top, "how many to list; implies --suggest")->check(CLI::Range(1, 1000));
  command->add_flag("--explain", typed->explain, "every formula that was used, with the numbers in");
  add_json_flag(*command, program);
  command->callback([typed, &program] { program.status = run(*typed, program.output); });
}

}  // namespace shardplan::cli
