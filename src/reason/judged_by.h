// The figures that risks are judged by (catalog/risk.h), in sentences and beside them.
//
//   s << stated_risk(*question.risk, &RiskFigures::felt);   // "10.0 %", figure "felt_share"
//   a.judged_by = judged_by(*question.risk, a.axes, a.failure_modes);   // those that were stated, with
//   sources
//
// Private to reason/. Not here: the figures.
#pragma once

#include "catalog/risk.h"
#include "reason/sentence.h"

namespace shardplan {

Stated stated_risk(const RiskFigures& risk, Sourced<Ratio<>> RiskFigures::*figure);

/// In the order of the table.
std::vector<JudgedBy> judged_by(const RiskFigures& risk, const std::vector<AxisFinding>& axes,
                                const std::vector<FailureMode>& modes);

}  // namespace shardplan
