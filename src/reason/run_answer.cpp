#include "reason/run_answer.h"

#include "estimate/interruptions.h"
#include "reason/failure_modes.h"

namespace shardplan {
namespace {

/// The question in each of the precisions that are possible.
std::vector<QuestionOfSize> possible_questions(const PlanQuestion& asked) {
  if (asked.precisions.empty()) return {asked.of_size};
  std::vector<QuestionOfSize> questions;
  for (const AskedPrecision& p : asked.precisions)
    if (p.impossible.empty()) questions.push_back(p.of_size);
  return questions;
}

/// Takes the question in the precision with the best plan; `questions`: one for each that is possible.
void take_best_precision(const PlanQuestion& asked, const std::vector<QuestionOfSize>& questions,
                         const SearchOptions& options, SizeChoice& choice) {
  std::vector<Question> of_size;
  of_size.reserve(questions.size());
  for (const QuestionOfSize& question_of : questions)
    of_size.push_back(question_of(choice.question.cluster.gpus));
  const auto plans = best_of_each(of_size, options);
  if (stopped(options.watch)) return;  // what was not looked at is not what does not fit
  std::vector<std::size_t> at;         // of each precision, how many possible ones come before it
  std::size_t possible = 0;
  for (const AskedPrecision& p : asked.precisions) {
    at.push_back(possible);
    const bool has_question = p.impossible.empty();
    choice.precisions.push_back({p.name, p.impossible, has_question ? plans[possible] : std::nullopt});
    if (has_question) ++possible;
  }
  choice.question = of_size[at[choose_precision(choice.precisions)]];
  choice.question.notes.push_back(precision_note(choice.precisions));
}

/// Of a search that was stopped before it had chosen: which of the precisions the question is in.
std::string uncompared_note(const PlanQuestion& asked, const SizeChoice& choice) {
  const std::size_t at = choice.sizes && choice.sizes->search.gpus > 0 ? choice.sizes->search.question : 0;
  std::vector<std::string> possible;
  for (const AskedPrecision& p : asked.precisions)
    if (p.impossible.empty()) possible.push_back(p.name);
  std::string all;
  for (const std::string& name : possible) all += (all.empty() ? "" : ", ") + name;
  return "stopped before the precisions " + all + " were compared: this is in " + possible[at];
}

/// What choosing has found on the way.
const Estimate* best_found(const SizeChoice& choice) {
  if (choice.sizes && choice.sizes->search.best) return &*choice.sizes->search.best;
  for (const PrecisionAnswer& p : choice.precisions)
    if (p.chosen && p.best) return &*p.best;
  return nullptr;
}

}  // namespace

void add_interruptions(const Estimator& estimator, RunAnswer& run) {
  if (!run.totals || !interruptions_expected(estimator)) return;
  const Ratio<> effective = interruptions<double>(estimator).effective;
  if (!(effective > ratio(0))) return;
  Interrupted with{effective, {}, {}};
  if (run.totals->time) with.time = *run.totals->time / effective;
  if (run.totals->cost) with.cost = *run.totals->cost / effective;
  run.interrupted = with;
}

std::size_t choose_precision(std::vector<PrecisionAnswer>& precisions) {
  const PrecisionAnswer* chosen = nullptr;
  for (const PrecisionAnswer& p : precisions) {
    if (!p.impossible.empty()) continue;
    const bool faster = p.best && (chosen == nullptr || !chosen->best || better(*p.best, *chosen->best));
    if (chosen == nullptr || faster) chosen = &p;
  }
  const auto at = static_cast<std::size_t>(chosen - precisions.data());
  precisions[at].chosen = true;
  return at;
}

std::string precision_note(const std::vector<PrecisionAnswer>& precisions) {
  std::string chosen, others;
  for (const PrecisionAnswer& p : precisions) {
    if (!p.impossible.empty()) continue;
    if (p.chosen) {
      chosen = p.name;
    } else {
      others += (others.empty() ? "" : ", ") + p.name;
    }
  }
  return "a precision changes the numerics: whether training in " + chosen + " converges" +
         (others.empty() ? "" : " as in " + others) + " is not judged";
}

SizeChoice choose_size(const PlanQuestion& asked, const SearchOptions& options) {
  SizeChoice choice{asked.question, std::nullopt};
  const std::vector<QuestionOfSize> questions = possible_questions(asked);
  if (asked.sizes) {
    choice.sizes = SizesAnswer{*asked.sizes,
                               best_size(*asked.sizes, asked.objective, asked.question, questions, options)};
    const SizeSearch& found = choice.sizes->search;
    if (found.gpus > 0) choice.question = questions[found.question](found.gpus);
  }
  if (!asked.precisions.empty() && !choice.stopped()) take_best_precision(asked, questions, options, choice);
  if (!asked.precisions.empty() && choice.precisions.empty())
    choice.question.notes.push_back(uncompared_note(asked, choice));
  return choice;
}

SearchResult search_chosen(const Estimator& estimator, const SizeChoice& choice,
                           const SearchOptions& options) {
  const Estimate* found = best_found(choice);
  SearchOptions own = options;
  // Who asks for the best plan alone has had it.
  if (options.runners_up == 0 && found != nullptr) own.known = found->plan;
  SearchResult result;
  result.stopped = choice.stopped();
  if (!result.stopped) result = search(estimator, choice.question.fixed, own);
  if (result.stopped && found != nullptr) {
    result.best = *found;
    result.runners_up.clear();
  }
  return result;
}

ParetoFront front_of(const PlanQuestion& asked, SearchWatch* watch) {
  const std::int64_t gpus = asked.question.cluster.gpus;
  return pareto_front(asked.sizes.value_or(GpuRange{gpus, gpus, 1}), asked.question, asked.of_size, watch);
}

RunAnswer run_answer(const Objective& objective, const std::optional<SizesAnswer>& sizes,
                     const std::optional<Estimate>& best) {
  RunAnswer run{objective, sizes, best, std::nullopt, std::nullopt, {}};
  if (best) run.totals = run_totals(objective, *best);
  return run;
}

}  // namespace shardplan
