// A reader's answer to a drill from TOML or JSON. The form: docs/reference/drill-answers.md.
//
//   Result<DrillAnswer> a = read_drill_answer(text, "answer.toml", form);
//   a.error().where   // "answer.toml:12", the line that is wrong
//
// Unknown keys, other types and numbers out of range are errors; a key that is left out is an empty answer.
// Text that starts with "{" is JSON. Not here: grading (reason/drill_rubric.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "catalog/drill_answer.h"
#include "catalog/result.h"

namespace shardplan {

/// Bytes that an answer file may have: a page of text is enough.
inline constexpr std::int64_t kDrillAnswerBytesMax = std::int64_t{1} << 20;

/// Where `where` has to name a line, it is FILE:LINE: PATH; JSON has no lines, there it is FILE: PATH.
Result<DrillAnswer> read_drill_answer(std::string_view text, const std::string& where, const DrillForm& form);

}  // namespace shardplan
