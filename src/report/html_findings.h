// The findings of an answer as sections of a page: the machine with the axes on its links, risks, thresholds,
// unknowns, evidence, sources. Shared by all commands whose answers have them.
//
//   sections({axes_section(question.cluster, a.axes, a.not_used), failure_section(a.failure_modes), ...})
//
// A section without findings is empty. Not here: how a finding is found (reason/).
#pragma once

#include "reason/answer.h"
#include "report/html_formulas.h"
#include "report/html_parts.h"

namespace shardplan {

/// Why nothing fits, and the smallest changes with which something does.
Section nothing_fits_section(const std::optional<NothingFits>& why);
/// The machine's tiers as nested boxes, each with the axes that live on its links.
Section axes_section(const Cluster& cluster, const std::vector<AxisFinding>& axes,
                     const std::vector<UnusedAxis>& not_used, const FormulaCards& cards);
/// With what they are judged by.
Section failure_section(const std::vector<FailureMode>& modes, const std::vector<JudgedBy>& judged_by,
                        const FormulaCards& cards);
Section threshold_section(const std::vector<Threshold>& thresholds, const std::vector<NotSought>& not_sought);
/// The tornado: what each input does to the step, the largest first.
/// `what`: "step", "token".
Section sensitivity_section(const std::vector<Sensitivity>& rows, Seconds<> step,
                            const std::string& what = "step");
Section unknown_section(const std::vector<Unknown>& unknowns, const std::vector<NearRun>& nearest);
/// What was told, what was assumed, and the catalog's numbers with their sources.
/// `framework`: null where it has no part in the answer.
Section source_section(const Question& question, const Framework* framework);

}  // namespace shardplan
