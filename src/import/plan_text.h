// A plan as a person types it, or as `plan --json` prints it: the inverse of canonical().
//
//   read_plan_text("tp8.pp4.dp16", "PLAN_A")->axes.tp       // 8; "tp8·pp4·dp16", "tp8,pp4,dp16" and "tp=8"
//   alike read_plan_text(canonical(plan), "x")->as_plan()         // plan read_plan("answer.json", "PLAN_B")
//   // a plan object, or the best plan of an answer
//
// A text with dp, a ZeRO stage and a micro-batch is whole, as canonical() always prints the three: what it
// does not name is 1, none or usual. Of any other text what is left out is open. Not here: what is taken for
// it (compare_question.h), which plans are legal (graph/space.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "catalog/plan.h"
#include "catalog/result.h"

namespace shardplan {

struct PlanText {
  std::string where;    // "PLAN_A"
  std::string spelled;  // "tp16·pp2": how sentences call it
  FixedAxes axes;       // of a whole plan all of them
  std::optional<std::int32_t> grad_accumulation, micro_batch_group;
  std::optional<std::int16_t> first_layers, last_layers;
  bool whole = false;

  /// Of a whole one.
  Plan as_plan() const;
};

Result<PlanText> read_plan_text(std::string_view typed, const std::string& where);
/// A plan object; an object with "plan", or with "best" and its "plan".
Result<PlanText> read_plan_json(std::string_view text, const std::string& where);
/// Either, by its first character.
Result<PlanText> read_plan_document(std::string_view text, const std::string& where);
/// A file where there is one of that name or the name ends in .json, else the text itself.
Result<PlanText> read_plan(const std::string& typed, const std::string& where);

/// Adds what the text tells to what flags told; an error where they tell two things of one axis.
std::optional<Error> add_axes(const PlanText& text, FixedAxes& axes);

}  // namespace shardplan
