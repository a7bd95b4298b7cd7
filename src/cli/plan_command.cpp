// shardplan plan: the best plan for a model on a cluster, and why.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "cli/commands.h"
#include "cli/output_file.h"
#include "cli/question_flags.h"
#include "cli/search_progress.h"
#include "cli/timeline_flag.h"

namespace shardplan::cli {
namespace {

constexpr const char* kPareto = "--pareto";

struct Typed {
  PlanSpec spec;
  bool explain = false;
  std::optional<std::string> timeline;  // a file
  std::optional<std::string> pareto;    // a file, or empty
};

TraceRoots plan_roots(const Estimator& estimator, const Estimate& best, const Objective& objective) {
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
  if (!objective.budget) return roots;
  const Seconds<Traced> run = run_time<Traced>(*objective.budget, best);
  roots.emplace_back("run", run.raw().shared());
  if (objective.price) roots.emplace_back("cost", run_cost<Traced>(run, objective, best).raw().shared());
  return roots;
}

/// What is wrong with the names of the files to write, if anything.
std::optional<Error> file_error(const Typed& typed) {
  if (typed.timeline) {
    if (const auto error = timeline_format_error(*typed.timeline)) return error;
  }
  if (!typed.pareto || typed.pareto->empty()) return std::nullopt;
  return format_error(*typed.pareto, kPareto, {".csv", ".svg"},
                      "a file that ends in .csv (a table) or .svg (a picture), or none");
}

std::optional<Error> write_pareto(const RunAnswer& run, const std::string& title, const std::string& path) {
  OutputFile file(path, kPareto);
  file.write(extension(path) == ".svg" ? pareto_svg(run, title) : pareto_csv(run));
  return file.finish();
}

/// What was asked, on the size and in the precision that are best where there are several.
struct Chosen {
  Question question;
  std::optional<SizesAnswer> sizes;
  std::vector<PrecisionAnswer> precisions;
  std::optional<std::vector<Estimate>> front;
};

/// The question in each of the precisions that are possible; of one size where there is one.
std::vector<QuestionOfSize> possible_questions(const Typed& typed, const PlanQuestion& asked) {
  std::vector<QuestionOfSize> questions;
  const auto add = [&](const PlanSpec& spec, const Question& of_one_size) {
    questions.emplace_back([&asked, &of_one_size, spec](std::int64_t gpus) {
      return asked.sizes ? question_of_size(spec, catalog(), gpus).value() : of_one_size;
    });
  };
  if (asked.precisions.empty()) add(typed.spec, asked.question);
  for (const AskedPrecision& p : asked.precisions) {
    if (p.question) add(in_precision(typed.spec, p.name), *p.question);
  }
  return questions;
}

/// Takes the question in the precision with the best plan; `questions`: one for each that is possible.
std::vector<PrecisionAnswer> take_best_precision(const PlanQuestion& asked,
                                                 const std::vector<Question>& questions, Question& best) {
  std::vector<PrecisionAnswer> precisions;
  std::vector<std::size_t> possible;
  for (const AskedPrecision& p : asked.precisions) {
    if (p.question) possible.push_back(precisions.size());
    precisions.push_back({p.name, p.question ? "" : p.question.error().message, std::nullopt});
  }
  const auto plans = best_of_each(questions);
  for (std::size_t i = 0; i < plans.size(); ++i) precisions[possible[i]].best = plans[i];
  const std::size_t chosen = choose_precision(precisions);
  best = questions[static_cast<std::size_t>(std::find(possible.begin(), possible.end(), chosen) -
                                            possible.begin())];
  best.notes.push_back(precision_note(precisions));
  return precisions;
}

Result<Chosen> choose(const Typed& typed, const PlanQuestion& asked) {
  Chosen chosen{asked.question, std::nullopt, {}, std::nullopt};
  const GpuRange one{asked.question.cluster.gpus, asked.question.cluster.gpus, 1};
  const GpuRange range = asked.sizes.value_or(one);
  const std::vector<QuestionOfSize> questions = possible_questions(typed, asked);
  if (asked.sizes) {
    SizesAnswer sizes{range, best_size(range, asked.objective, asked.question, questions)};
    if (sizes.search.gpus > 0) chosen.question = questions.front()(sizes.search.gpus);
    chosen.sizes = std::move(sizes);
  }
  if (const auto illegal = why_illegal(chosen.question, chosen.question.fixed)) return illegal_plan(*illegal);
  if (!asked.precisions.empty()) {
    std::vector<Question> of_size;
    for (const QuestionOfSize& question_of : questions)
      of_size.push_back(question_of(chosen.question.cluster.gpus));
    chosen.precisions = take_best_precision(asked, of_size, chosen.question);
  }
  if (typed.pareto) chosen.front = pareto_front(range, asked.question, questions.front());
  return chosen;
}

int run(const Typed& typed, const Output& output) {
  if (const auto error = file_error(typed)) return output.error(*error);
  const Result<PlanQuestion> asked = build_plan_question(typed.spec, catalog());
  if (!asked) return output.error(asked.error());
  if (typed.pareto && !asked->precisions.empty()) {
    return output.error(
        {"conflict", "the plans that no other beats are of one precision", kPareto, "one --precision", ""});
  }
  Result<Chosen> chosen = choose(typed, *asked);
  if (!chosen) return output.error(chosen.error());
  const Question& question = chosen->question;
  const Estimator estimator(question);
  const auto start = std::chrono::steady_clock::now();
  SearchResult result = [&] {
    SearchProgress progress;
    return search(estimator, question.fixed, SearchOptions{.watch = &progress.watch()});
  }();
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  const Answer found = answer(estimator, question.fixed, std::move(result), catalog().evidence);
  RunAnswer whole = run_answer(asked->objective, chosen->sizes, found.result.best);
  whole.pareto = std::move(chosen.value().front);
  whole.precisions = std::move(chosen.value().precisions);
  const SearchTime time{spent.count()};
  std::string text = run_text(whole) + plan_text(question, found, time);
  Json json = plan_answer_json(question, found, time);
  add_run(whole, json);
  if (whole.pareto) text += pareto_text(whole);
  if (whole.pareto && !typed.pareto->empty()) {
    if (const auto error = write_pareto(whole, pareto_title(question), *typed.pareto))
      return output.error(*error);
    text += pareto_file_words(*typed.pareto);
  }
  if (typed.explain && found.result.best) {
    const TraceRoots roots = plan_roots(estimator, *found.result.best, asked->objective);
    text += "\n" + explain_text(roots);
    json["explanation"] = explain_json(roots);
  }
  if (typed.timeline && found.result.best) {
    const StepTimeline line = estimator.step_timeline(found.result.best->plan);
    if (const auto error = write_timeline(line, timeline_title(question, line.plan), *typed.timeline))
      return output.error(*error);
    text += timeline_text(line, *typed.timeline);
    json["timeline"] = timeline_json(line, *typed.timeline);
  }
  return output.answer(text, json, whole.yes());
}

}  // namespace

void add_plan_command(CLI::App& app, Program& program) {
  const auto typed = std::make_shared<Typed>();
  CLI::App* command = app.add_subcommand("plan", "the best plan for a model on a cluster, and why");
  add_question_flags(*command, typed->spec.question);
  const auto add = [&](const char* flag, std::optional<std::string>& text, const char* help) {
    command->add_option(flag, text, help)->type_name("");
  };
  add("--fix", typed->spec.fix, "axes that are told, as tp=8,pp=4,schedule=1f1b");
  add("--min", typed->spec.bounds.min,
      "least degrees to search, as tp=2,zero=1; dp, tp, pp, cp, ep, etp, zero, shard-group, micro-batch, "
      "interleave");
  add("--max", typed->spec.bounds.max, "most degrees to search, as tp=8,zero=2");
  add("--forbid", typed->spec.bounds.forbid,
      "axes that are not to be used, as cp,ep; also zero, shard-group, recompute, sp, offload");
  for (const ObjectiveFlag& flag : objective_flags())
    add(flag.flag, typed->spec.objective.*flag.text, flag.help);
  command
      ->add_option(
          kPareto, typed->pareto,
          "the plans that no other beats in GPUs, step time and memory left free; also to FILE.csv or FILE.svg")
      ->type_name("")
      ->expected(0, 1);
  command->add_flag("--whole-space", typed->spec.whole_space,
                    "search also uneven first and last stages, any modules run again, tensor parallelism "
                    "without sequence parallelism; some ten times slower");
  command->add_flag("--explain", typed->explain, "every formula that was used, with the numbers in");
  command
      ->add_option("--timeline", typed->timeline,
                   "write the best plan's step to FILE: a trace for Perfetto (.json) or a picture (.svg)")
      ->type_name("");
  add_json_flag(*command, program);
  command->callback([typed, &program] { program.status = run(*typed, program.output); });
}

}  // namespace shardplan::cli
