// What `plan` is asked, as a person types it: a question on one size of the cluster or on each of several,
// and what is best.
//
//   PlanSpec spec;  spec.question.gpus = "8:1024:8";  spec.objective.objective = "cost"; ...
//   Result<PlanQuestion> asked = build_plan_question(spec, catalog());
//   asked->sizes;                               // 8, 16, ... 1,024
//   asked->of_size(64)                          // the same on 64
//
// --precision may name several, or any: each is a question of its own, as each size is.
//
// Not here: the flags of the question itself (question.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "catalog/plan_question.h"
#include "import/axis_bounds.h"
#include "import/question.h"

namespace shardplan {

/// The texts of the flags of the run; absent = not told.
struct ObjectiveTexts {
  using Flag = std::optional<std::string>;
  Flag objective, tokens, deadline, price, watts, budget;
};

struct PlanSpec {
  using Flag = std::optional<std::string>;
  QuestionSpec question;  // its --gpus may be a range: A:B, or A:B:STEP
  Flag fix;
  BoundTexts bounds;
  ObjectiveTexts objective;
  /// All that the framework's engine can do: uneven first and last stages, any modules run again, tensor
  /// parallelism without sequence parallelism, ranks in other orders. Else the usual plans.
  bool whole_space = false;
};

/// A flag beside those of the question, as adapters need it: its spelling, where its text goes, one line of
/// help that names the unit. A list may be told in parts, which commas then join.
struct PlanFlag {
  const char* flag;
  PlanSpec::Flag& (*text)(PlanSpec&);
  const char* help;
  bool list = false;
};
/// All of them, in the order of the help page, but for the switch.
std::span<const PlanFlag> plan_flags();
inline constexpr const char* kWholeSpaceFlag = "--whole-space";

/// Those of them that say what is searched, for whatever searches.
std::span<const PlanFlag> search_flags();

/// The question on its one size and in its one precision, within what is searched.
Result<Question> searched_question(const PlanSpec& spec, const Catalog& catalog);

/// The whole question, or the first thing that is wrong with it. It refers to the catalog.
Result<PlanQuestion> build_plan_question(const PlanSpec& spec, const Catalog& catalog);

/// The same question in one precision.
PlanSpec in_precision(PlanSpec spec, const std::string& name);

/// The same question on another size of the range, with the batch that all sizes share. Of one precision.
Result<Question> question_of_size(const PlanSpec& spec, const Catalog& catalog, std::int64_t gpus);

/// "A:B" or "A:B:STEP"; whether a text is meant as one.
bool is_gpu_range(const std::string& text);
Result<GpuRange> read_gpu_range(const std::string& text);

}  // namespace shardplan
