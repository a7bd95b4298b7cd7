#include "estimate/run_totals.h"

#include "catalog/source.h"
#include "cost/run.h"

namespace shardplan {
namespace {

double gpus_of(const Estimate& e) { return static_cast<double>(e.plan.gpus()); }

double joules_of(Seconds<> time, const Estimate& e, const Objective& o) {
  return time.raw() * gpus_of(e) * o.watts->value;
}

}  // namespace

template <class N>
Seconds<N> run_time(Tokens<> budget, const Estimate& e) {
  return call<RunTime>(RunTime::In<N>{leaf<N>("tokens", budget, "question"),
                                      leaf<N>("tokens a second of one GPU", e.tokens_per_gpu, "of the step"),
                                      leaf<N>("GPUs", gpus_of(e), "plan")});
}

template <class N>
Usd<N> run_cost(const Seconds<N>& time, const Objective& o, const Estimate& e) {
  return call<RunCost>(RunCost::In<N>{time, leaf<N>("GPUs", gpus_of(e), "plan"),
                                      leaf<N>("price of one GPU", o.price->value, o.price->source)});
}

RunTotals run_totals(const Objective& o, const Estimate& e) {
  RunTotals run;
  const Seconds<> of_token = run_time<double>(tokens(1), e);
  if (o.price) {
    run.spending = ratio(gpus_of(e)) * o.price->value;
    run.cost_of_token = run_cost<double>(of_token, o, e);
  }
  if (o.watts) run.joules_of_token = joules_of(of_token, e, o);
  if (!o.budget) return run;
  run.time = run_time<double>(*o.budget, e);
  if (o.price) run.cost = run_cost<double>(*run.time, o, e);
  if (o.watts) run.joules = joules_of(*run.time, e, o);
  run.in_time = !o.deadline || *run.time <= *o.deadline;
  return run;
}

ObjectiveValue objective_value(const Objective& o, const Estimate& e) {
  const RunTotals run = run_totals(o, e);
  switch (o.kind) {
    case ObjectiveKind::kStepTime:
      break;
    case ObjectiveKind::kTokensPerGpu:
      return {e.tokens_per_gpu.raw(), "tokens/s"};
    case ObjectiveKind::kCost:
      if (run.cost) return {run.cost->raw(), "USD"};
      return {run.cost_of_token->raw(), "USD/token"};
    case ObjectiveKind::kEnergy:
      if (run.joules) return {*run.joules, "J"};
      return {*run.joules_of_token, "J/token"};
    case ObjectiveKind::kGpus:
      return {gpus_of(e), "GPUs"};
  }
  return {e.step.raw(), "s"};
}

template Seconds<Traced> run_time<Traced>(Tokens<>, const Estimate&);
template Usd<Traced> run_cost<Traced>(const Seconds<Traced>&, const Objective&, const Estimate&);

}  // namespace shardplan
