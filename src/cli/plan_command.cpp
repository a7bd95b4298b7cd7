// shardplan plan: the best plan for a model on a cluster, and why.
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "cli/commands.h"
#include "cli/question_flags.h"
#include "cli/timeline_flag.h"

namespace shardplan::cli {
namespace {

struct Typed {
  QuestionSpec spec;
  BoundTexts bounds;
  bool explain = false;
  std::optional<std::string> timeline;  // a file
};

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

int run(const Typed& typed, const Output& output) {
  if (typed.timeline) {
    if (const auto error = timeline_format_error(*typed.timeline)) return output.error(*error);
  }
  Result<Question> question = build_question(typed.spec, catalog());
  if (!question) return output.error(question.error());
  const auto bounded = read_bounds(typed.bounds, question.value().fixed);
  if (!bounded) return output.error(bounded.error());
  question.value().notes.insert(question->notes.end(), bounded->begin(), bounded->end());
  const Estimator estimator(question.value());
  if (const auto illegal = why_illegal(estimator.question(), question->fixed))
    return output.error(illegal_plan(*illegal));
  const auto start = std::chrono::steady_clock::now();
  SearchResult result = search(estimator, question->fixed);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  const Answer found = answer(estimator, question->fixed, std::move(result), catalog().evidence);
  const SearchTime time{spent.count()};
  std::string text = plan_text(*question, found, time);
  Json json = plan_answer_json(*question, found, time);
  if (typed.explain && found.result.best) {
    const TraceRoots roots = plan_roots(estimator, *found.result.best);
    text += "\n" + explain_text(roots);
    json["explanation"] = explain_json(roots);
  }
  if (typed.timeline && found.result.best) {
    const StepTimeline line = estimator.step_timeline(found.result.best->plan);
    if (const auto error = write_timeline(line, timeline_title(*question, line.plan), *typed.timeline))
      return output.error(*error);
    text += timeline_text(line, *typed.timeline);
    json["timeline"] = timeline_json(line, *typed.timeline);
  }
  return output.answer(text, json, found.result.best.has_value());
}

}  // namespace

void add_plan_command(CLI::App& app, Program& program) {
  const auto typed = std::make_shared<Typed>();
  CLI::App* command = app.add_subcommand("plan", "the best plan for a model on a cluster, and why");
  add_question_flags(*command, typed->spec);
  const auto bound = [&](const char* flag, std::optional<std::string>& text, const char* help) {
    command->add_option(flag, text, help)->type_name("");
  };
  bound("--min", typed->bounds.min,
        "least degrees to search, as tp=2,pp=4; dp, tp, pp, cp, ep, etp, micro-batch, interleave");
  bound("--max", typed->bounds.max, "most degrees to search, as tp=8,micro-batch=2");
  bound("--forbid", typed->bounds.forbid, "axes that are not to be used, as cp,ep");
  command->add_flag("--explain", typed->explain, "every formula that was used, with the numbers in");
  command
      ->add_option("--timeline", typed->timeline,
                   "write the best plan's step to FILE: a trace for Perfetto (.json) or a picture (.svg)")
      ->type_name("");
  add_json_flag(*command, program);
  command->callback([typed, &program] { program.status = run(*typed, program.output); });
}

}  // namespace shardplan::cli
