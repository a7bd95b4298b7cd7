#include "reason/run_answer.h"

#include <utility>

namespace shardplan {

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

RunAnswer run_answer(const Objective& objective, std::optional<SizesAnswer> sizes,
                     const std::optional<Estimate>& best) {
  RunAnswer run{objective, std::move(sizes), best, std::nullopt, std::nullopt, {}};
  if (best) run.totals = run_totals(objective, *best);
  return run;
}

}  // namespace shardplan
