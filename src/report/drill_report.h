// The drills as text and JSON: the list, a question, its empty answer form, the worked answers, a grade.
//
//   drill_solution_text(drill, solutions)   // each scenario with its tables; "$ shardplan ..." under each
//
// Formats what reason/drill.h holds. Not here: numbers of its own.
#pragma once

#include <string>
#include <vector>

#include "reason/drill.h"
#include "reason/drill_rubric.h"
#include "report/json_values.h"

namespace shardplan {

std::string drill_list_text();
Json drill_list_json();

std::string drill_question_text(const Drill& drill);
Json drill_question_json(const Drill& drill);
/// A TOML file that parses and answers nothing.
std::string drill_template(const Drill& drill);

std::string drill_solution_text(const Drill& drill, const std::vector<DrillSolution>& solutions);
Json drill_solution_json(const Drill& drill, const std::vector<DrillSolution>& solutions);

std::string drill_grade_text(const DrillGrade& grade);
Json drill_grade_json(const DrillGrade& grade);

}  // namespace shardplan
