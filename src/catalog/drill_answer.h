// A reader's answer to a drill, as the file says it.
//
//   a.scenarios[0].constraint.statement   // "968.6 GiB of state against 182.3 GiB"
//
// Read by import/drill_answer.h, graded by reason/drill_rubric.h. Not here: whether it is right.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "catalog/plan.h"

namespace shardplan {

struct DrillAnswer {
  struct Constraint {
    std::string kind;       // "state"
    std::string statement;  // with a number and its unit
  };
  struct Axis {
    std::string axis;  // "tp"
    std::string why;   // with a number and its unit
  };
  struct FailureMode {
    std::string statement, symptom;
  };
  struct Scenario {
    std::string id;
    bool no_plan = false;      // the reader says that nothing fits
    std::optional<Plan> plan;  // none: left out
    Constraint constraint;
    std::vector<Axis> axes;
    FailureMode failure_mode;
    std::vector<std::string> unknowns;
  };
  int drill = 0;
  std::vector<Scenario> scenarios;
};

/// The names that an answer may use: scenarios of each drill, kinds of constraint.
struct DrillForm {
  struct Ids {
    int drill = 0;
    std::vector<std::string> scenarios;
  };
  std::vector<Ids> drills;
  std::vector<std::string> kinds;
};

}  // namespace shardplan
