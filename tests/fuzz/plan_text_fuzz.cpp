// Feeds import/plan_text.h and import/compare_question.h: whatever the text is, it is a plan or an error; two
// of them are two plans of a question or an error; and a whole plan is read again as it is printed.
#include <cstdlib>

#include "fuzz_one.h"
#include "graph/space.h"
#include "import/compare_question.h"

int fuzz_one(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto plan = shardplan::read_plan_document(text, "fuzz");
  if (!plan) return 0;
  if (plan->whole) {
    const auto again = shardplan::read_plan_text(canonical(plan->as_plan()), "fuzz");
    // A field that canonical() leaves out where it says nothing may be lost, never the text itself.
    if (!again || canonical(again->as_plan()) != canonical(plan->as_plan())) std::abort();
  }
  shardplan::PlanSpec spec;
  spec.question.preset = "llama3-8b";
  const auto asked = shardplan::build_comparison(spec.question, {*plan, *plan}, shardplan::catalog());
  if (asked) static_cast<void>(shardplan::Space(asked->question).first_broken(asked->plans[0].plan));
  static_cast<void>(static_cast<bool>(shardplan::build_why_not(spec, *plan, shardplan::catalog())));
  return 0;
}
