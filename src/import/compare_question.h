// Two plans of one question, as `compare` takes them; and a question about plans of a kind, as `why-not`
// does.
//
//   Result<ComparedPlans> asked = build_comparison(spec, {a, b}, catalog());
//   asked->plans[0].plan;      // PLAN_A with what was taken for what it leaves out
//   asked->plans[0].assumed;   // "PLAN_A: ZeRO stage 3: the fullest sharding that generic has"
//
// What a plan leaves out is told by the flags of its axis or is what `memory` takes. Not here: how a plan is
// read (plan_text.h), which of the two is better (reason/compare.h).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "import/plan_question.h"
#include "import/plan_text.h"
#include "import/question.h"

namespace shardplan {

struct ComparedPlans {
  /// On as many GPUs as the plans have, with the batch that they share; 0 where each has its own.
  Question question;
  std::array<MemoryPlan, 2> plans;
};

/// Whether the plans are legal is not looked at.
Result<ComparedPlans> build_comparison(QuestionSpec spec, const std::array<PlanText, 2>& texts,
                                       const Catalog& catalog);

/// A question, and the axes of a search for plans of one kind beside its own.
struct AskedKind {
  Question question;
  PlanText kind;
  FixedAxes with;              // what was told of the question, and the kind
  std::vector<ToldAxis> told;  // for errors
};
/// Of the flags of a run none is read.
Result<AskedKind> build_why_not(PlanSpec spec, const PlanText& kind, const Catalog& catalog);

}  // namespace shardplan
