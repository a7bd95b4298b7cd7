// shardplan plan: the best plan for a model on a cluster, and why.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/output_file.h"
#include "cli/question_flags.h"
#include "cli/search_progress.h"
#include "cli/timeline_flag.h"

namespace shardplan::cli {
namespace {

constexpr const char* kPareto = "--pareto";
constexpr const char* kNoFile = "none";

struct Typed {
  PlanSpec spec;
  bool explain = false;
  std::optional<std::string> timeline;  // a file
  std::optional<std::string> pareto;    // a file, or kNoFile
  std::optional<std::string> report;    // a file
  bool pareto_file() const { return pareto && *pareto != kNoFile; }
};

/// What is wrong with the names of the files to write, if anything.
std::optional<Error> files_error(const Typed& typed) {
  if (typed.timeline) {
    if (auto error = timeline_file_error(*typed.timeline)) return error;
  }
  if (typed.report) {
    if (auto error = report_error(*typed.report)) return error;
  }
  if (!typed.pareto_file()) return std::nullopt;
  return file_error(*typed.pareto, kPareto, {".csv", ".svg"},
                    "a file that ends in .csv (a table) or .svg (a picture), or no value");
}

std::optional<Error> write_pareto(const RunAnswer& run, const std::string& title, const std::string& path) {
  return write_file(path, kPareto, extension(path) == ".svg" ? pareto_svg(run, title) : pareto_csv(run));
}

struct Found {
  Question question;  // on the size that was chosen
  Answer answer;
  RunAnswer run;
  SearchTime time;
};

/// All that is searched. Ctrl-C ends each search with what it has found: the plan is sought first, then what
/// is said of it.
Result<Found> find(const Typed& typed, const PlanQuestion& asked) {
  SearchProgress progress;
  const SearchOptions options{.watch = &progress.watch()};
  SizeChoice choice = choose_size(asked, options);
  const Question& question = choice.question;
  if (!choice.stopped()) {
    if (const auto illegal = why_illegal(question, question.fixed))
      return illegal_axes(question, question.fixed, *illegal, asked.told);
  }
  const Estimator estimator(question);
  const auto start = std::chrono::steady_clock::now();
  SearchResult result = search_chosen(estimator, choice, options);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  std::optional<ParetoFront> front;
  if (typed.pareto) front = front_of(asked, options.watch);
  const auto price =
      asked.objective.price ? std::optional(asked.objective.price->value) : std::nullopt;  // of one GPU
  Answer answered =
      answer(estimator, question.fixed, std::move(result), catalog().evidence, options.watch, price);
  RunAnswer run = run_answer(asked.objective, choice.sizes, answered.result.best);
  run.precisions = std::move(choice.precisions);
  run.pareto = std::move(front);
  add_interruptions(estimator, run);
  return Found{std::move(choice.question), std::move(answered), std::move(run), {spent.count()}};
}

/// What Ctrl-C has left unknown.
std::string stopped_words(const SearchResult& result, const RunAnswer& run) {
  const char* what = !result.stopped ? "plans may be missing among those that no other beats"
                     : run.best      ? "there may be a better plan than this one"
                                     : "there may be a plan";
  return std::string("shardplan: stopped before its end: ") + what + "\n";
}

int run(const Typed& typed, const Output& output) {
  if (const auto error = files_error(typed)) return output.error(*error);
  const Result<PlanQuestion> asked = build_plan_question(typed.spec, catalog());
  if (!asked) return output.error(asked.error());
  if (typed.pareto && !asked->precisions.empty()) {
    return output.error(
        {"conflict", "the plans that no other beats are of one precision", kPareto, "one --precision", ""});
  }
  const Result<Found> found = find(typed, *asked);
  if (!found) return output.error(found.error());
  const auto& [question, answered, whole, time] = *found;
  std::string text = run_text(whole) + (whole.undecided() ? "" : plan_text(question, answered, time));
  Json json = plan_answer_json(question, answered, time);
  add_run(whole, json);
  if (whole.pareto) text += pareto_text(whole);
  if (whole.pareto && typed.pareto_file()) {
    if (const auto error = write_pareto(whole, pareto_title(question), *typed.pareto))
      return output.error(*error);
    text += pareto_file_words(*typed.pareto);
  }
  const Estimator estimator(question);
  const std::optional<Estimate>& best = answered.result.best;
  if (typed.explain) {
    const TraceRoots roots = plan_trace(estimator, answered.result, asked->objective).roots();
    if (!roots.empty()) text += "\n" + explain_text(roots);
    json["explanation"] = explain_json(roots);
  }
  if (typed.timeline && best) {
    const StepTimeline line = estimator.step_timeline(best->plan);
    if (const auto error = write_timeline(line, timeline_title(question, line.plan), *typed.timeline))
      return output.error(*error);
    text += timeline_text(line, *typed.timeline);
    json["timeline"] = timeline_json(line, *typed.timeline);
  }
  if (typed.report) {
    if (const auto error = write_file(*typed.report, kReport, plan_html(estimator, answered, whole, time)))
      return output.error(*error);
    add_report(*typed.report, text, json);
  }
  const int status = output.answer(text, json, whole.yes());
  const bool front = whole.pareto && whole.pareto->stopped;
  if (status == kWrong || (!answered.result.stopped && !front)) return status;
  std::fputs(stopped_words(answered.result, whole).c_str(), stderr);
  return kInterrupted;
}

}  // namespace

void add_plan_command(CLI::App& app, Program& program) {
  const auto typed = std::make_shared<Typed>();
  CLI::App* command = app.add_subcommand("plan", "the best plan for a model on a cluster, and why");
  add_question_flags(*command, typed->spec.question);
  for (const PlanFlag& flag : plan_flags()) add_plan_flag(*command, flag, typed->spec);
  command
      ->add_option(
          kPareto, typed->pareto,
          "the plans that no other beats in GPUs, step time and memory left free; also to FILE.csv or FILE.svg")
      ->type_name("")
      ->expected(0, 1)
      ->default_str(kNoFile);  // an empty value is no value
  add_whole_space_flag(*command, typed->spec);
  command->add_flag("--explain", typed->explain, "every formula that was used, with the numbers in");
  command
      ->add_option("--timeline", typed->timeline,
                   "write the best plan's step to FILE: a trace for Perfetto (.json) or a picture (.svg)")
      ->type_name("");
  command->add_option(kReport, typed->report, kReportHelp)->type_name("");
  add_json_flag(*command, program);
  command->callback([typed, &program] { program.status = run(*typed, program.output); });
}

}  // namespace shardplan::cli
