// The charts of a page that are bars: memory by stage, the terms of a step, a census, needs beside what there
// is.
//
//   bar({{"weights", 0.21, "weights 16.92 GiB"}, ...}, {0.93})
//
// Bars are as wide as the place they stand in, on a phone or on paper; what they show is also in a table or
// in words beside them, so they are hidden from who listens. Not here: colours (html_style.h).
#pragma once

#include <string>
#include <vector>

#include "estimate/estimate.h"
#include "report/html_formulas.h"
#include "report/html_parts.h"

namespace shardplan {

struct BarPart {
  std::string kind;   // its colour: a class of the style
  double share = 0;   // of the whole width
  std::string title;  // shown where a pointer rests
};
/// Parts from left to right, lines across at the shares of `marks`.
Markup bar(const std::vector<BarPart>& parts, const std::vector<double>& marks = {});

struct LegendEntry {
  std::string kind, label;
};
Markup legend(const std::vector<LegendEntry>& entries);

/// Stages of a plan, beside what a GPU has.
struct StageMemory {
  std::vector<MemoryBreakdown<>> by_stage;
  Bytes<> usable, hbm;
  std::size_t fullest = 0;  // its place among them
  int first = 0;            // number of the first of them
  int stages = 1;           // of the whole pipeline
};
/// Stages that hold the same are drawn once. `fullest`: the roots of the fullest stage's terms.
Markup memory_figure(const StageMemory& stages, const FormulaCards& cards, const TraceRoots& fullest);

/// A step by its terms: time, hidden, exposed.
Markup time_figure(const TimeBreakdown<>& time, const FormulaCards& cards, const TraceRoots& roots);

}  // namespace shardplan
