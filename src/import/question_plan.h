// What was told of a plan, and one plan for `memory` (parse_axes() and default_memory_plan() of question.h).
// Private to import/: question.cpp calls what is declared here once the model is known.
//
//   check_recompute(flags, q);   // --recompute moe of a dense model is refused
#pragma once

#include <string>
#include <vector>

#include "import/flag_reader.h"

namespace shardplan {

/// Those of --schedule.
std::vector<std::string> schedule_names();

/// The model must have what is to be recomputed: a run that named it otherwise would not start, or save
/// nothing.
void check_recompute(FlagReader& flags, const Question& q);

/// Of the layers told of the first and the last chunk: no more than there are.
void check_ends(FlagReader& flags, const Question& q);

/// Notes on what is told and no option of the framework is known for: it is answered all the same.
void note_foreign(Question& q);

/// What is to be tried of --schedule, where it says several; and a note on what the framework does not run.
void take_schedules(FlagReader& flags, Question& q);

}  // namespace shardplan
