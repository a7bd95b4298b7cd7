#include "reason/failure_modes.h"

#include <algorithm>
#include <cassert>

#include "reason/failure_kinds.h"

namespace shardplan {

FailureMode failure_mode(const char* id, const Sentence& statement, const char* symptom, const char* metric,
                         const Arrival& arrival) {
  FailureMode mode{id, statement.words(), symptom, metric};
  const StatedFigure& at = arrival.at.figure;
  mode.level = FailureLevel{arrival.when, at.value, at.unit,
                            std::string(arrival.when) + " " + arrival.at.text + ": " + arrival.then.words()};
  mode.figures = statement.figures();
  mode.figures.insert(mode.figures.end(), arrival.then.figures().begin(), arrival.then.figures().end());
  return mode;
}

std::size_t FailureCase::tier(const std::string& name) const {
  const std::vector<Tier>& tiers = cluster().tiers;
  const auto at = std::find_if(tiers.begin(), tiers.end(), [&](const Tier& t) { return t.name == name; });
  assert(at != tiers.end());
  return static_cast<std::size_t>(at - tiers.begin());
}

Sentence of_step(const FailureCase& c, const std::string& name, Seconds<> part) {
  Sentence s;
  return s << stated(name.c_str(), part) << ", "
           << stated_share((name + "_share").c_str(), part / c.best.step) << " of the step";
}

Sentence felt_said(const FailureCase& c) {
  Sentence s;
  s << "the step is " << stated_risk(c.risk(), &RiskFigures::felt) << " longer";
  return s;
}

std::vector<FailureMode> failure_modes(const Estimator& estimator, const Estimate& best,
                                       std::span<const AxisFinding> axes) {
  const FailureCase c{estimator, best, axes};
  std::vector<FailureMode> found;
  for (const auto& kinds : {memory_failures(), traffic_failures(), time_failures(), run_failures()}) {
    for (const FailureKind& kind : kinds) {
      if (!kind.applies(c)) continue;
      found.push_back(failure_mode(kind.id, kind.statement(c), kind.symptom, kind.metric, kind.arrival(c)));
    }
  }
  return found;
}

}  // namespace shardplan
