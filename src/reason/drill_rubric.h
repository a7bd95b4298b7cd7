// Grades a reader's answer to a drill against the worked one, line by line, each with its reason.
//
//   DrillGrade g = grade_drill(*find_drill(2), answer, reader);
//   g.lines[0]   // {"A", "constraint", false, "names state; compute binds: ..."}
//
// The rubric: the constraint is named and quantified, every axis that is used cites a number, a failure mode
// has a symptom, something unknown is named, the degrees multiply to the GPU count and the plan is legal.
// Not here: reading of files (import/drill_answer.h).
#pragma once

#include <string>
#include <vector>

#include "catalog/drill_answer.h"
#include "reason/drill.h"

namespace shardplan {

struct DrillLine {
  std::string scenario;
  std::string rubric;  // constraint, axes, failure_mode, unknowns, product
  bool passed = false;
  std::string reason;
};

struct DrillGrade {
  int drill = 0;
  bool passed = false;
  std::vector<DrillLine> lines;
};

DrillGrade grade_drill(const Drill& drill, const DrillAnswer& answer, const DrillReader& reader);

/// The scenarios of each drill and the kinds of binding constraint that an answer may name, the course's
/// words among them.
DrillForm drill_form();

}  // namespace shardplan
