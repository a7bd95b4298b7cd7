// A reader's answer to a drill from TOML or JSON. The form: docs/reference/drill-answers.md.
//
//   Result<DrillAnswer> a = read_drill_answer(text, "answer.toml", form);
//   a.error().where   // "answer.toml:12", the line that is wrong
//
// Unknown keys, other types and numbers out of range are errors; a key that is left out is an empty answer.
// Text that starts with "{" is JSON. Not here: grading (reason/drill_rubric.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalog/drill_answer.h"
#include "catalog/result.h"

namespace shardplan {

/// The names that an answer may use: scenarios of each drill, kinds of constraint.
struct DrillForm {
  struct Ids {
    int drill = 0;
    std::vector<std::string> scenarios;
  };
  std::vector<Ids> drills;
  std::vector<std::string> kinds;
};

/// Where `where` has to name a line, it is FILE:LINE: PATH; JSON has no lines, there it is FILE: PATH.
Result<DrillAnswer> read_drill_answer(std::string_view text, const std::string& where, const DrillForm& form);

}  // namespace shardplan
