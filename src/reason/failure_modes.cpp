#include "reason/failure_modes.h"

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

Sentence felt_said() {
  Sentence s;
  s << "the step is " << stated_share("longer", kFelt) << " longer";
  return s;
}

std::vector<FailureMode> failure_modes(const Estimator& estimator, const Estimate& best) {
  const FailureCase c{estimator, best};
  std::vector<FailureMode> found;
  for (const auto& kinds : {memory_failures(), time_failures(), run_failures()}) {
    for (const FailureKind& kind : kinds) {
      if (!kind.applies(c)) continue;
      found.push_back(failure_mode(kind.id, kind.statement(c), kind.symptom, kind.metric, kind.arrival(c)));
    }
  }
  return found;
}

}  // namespace shardplan
