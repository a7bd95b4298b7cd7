#include "reason/judged_by.h"

#include <algorithm>
#include <cassert>
#include <set>

namespace shardplan {
namespace {

Stated stated_of(const RiskFigures& risk, const RiskFigure& f) {
  const Ratio<> value = (risk.*f.figure).value;
  return f.share ? stated_share(f.id, value) : stated(f.id, value);
}

}  // namespace

Stated stated_risk(const RiskFigures& risk, Sourced<Ratio<>> RiskFigures::*figure) {
  const auto at = std::find_if(kRiskFigures.begin(), kRiskFigures.end(),
                               [&](const RiskFigure& f) { return f.figure == figure; });
  assert(at != kRiskFigures.end());
  return stated_of(risk, *at);
}

std::vector<JudgedBy> judged_by(const RiskFigures& risk, const std::vector<AxisFinding>& axes,
                                const std::vector<FailureMode>& modes) {
  std::set<std::string> said;
  const auto add = [&](const std::vector<StatedFigure>& figures) {
    for (const StatedFigure& f : figures) said.insert(f.id);
  };
  for (const AxisFinding& x : axes) add(x.figures);
  for (const FailureMode& f : modes) add(f.figures);
  std::vector<JudgedBy> found;
  for (const RiskFigure& f : kRiskFigures) {
    if (!said.contains(f.id)) continue;
    const Stated number = stated_of(risk, f);
    found.push_back({f.id, number.text + " " + f.words, number.figure.value, number.figure.unit,
                     (risk.*f.figure).source});
  }
  return found;
}

}  // namespace shardplan
