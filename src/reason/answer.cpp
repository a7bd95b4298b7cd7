#include "reason/answer.h"

#include "reason/axes.h"
#include "reason/binding.h"
#include "reason/failure_modes.h"
#include "reason/thresholds.h"
#include "reason/unknowns.h"

namespace shardplan {

Answer answer(const Estimator& estimator, const FixedAxes& fixed) {
  Answer a;
  a.result = search(estimator, fixed);
  a.binding = binding_constraint(estimator, fixed, a.result);
  if (a.result.best) {
    const Estimate& best = *a.result.best;
    a.axes = axis_findings(estimator, best);
    a.not_used = unused_axes(estimator, fixed, best);
    a.failure_modes = failure_modes(estimator, best);
  }
  a.thresholds = thresholds(estimator, fixed, a.result);
  a.unknowns = unknowns(estimator.question(), a.result.best ? &a.result.best->plan : nullptr);
  return a;
}

}  // namespace shardplan
