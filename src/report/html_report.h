// The answer of `shardplan plan` as one page: read on a screen or on paper, nothing to load, no script.
//
//   std::string html = plan_html(estimator, answer, run, time);
//
// It says what plan_text says, draws it, and every number that a formula made opens the formula. Not here:
// its pieces (html_parts.h), charts (html_charts.h), findings (html_findings.h), formulas (html_formulas.h).
#pragma once

#include <string>

#include "estimate/estimator.h"
#include "reason/run_answer.h"
#include "report/plan_report.h"

namespace shardplan {

/// `estimator` is of the question that was answered.
std::string plan_html(const Estimator& estimator, const Answer& answer, const RunAnswer& run,
                      const SearchTime& time);

}  // namespace shardplan
