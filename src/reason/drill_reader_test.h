// The drills' reader as the program has it, for the unit tests of reason/ and report/.
//
//   const DrillSolution a = solve_scenario(find_drill(2)->scenarios[0], test_reader());
//
// Not here: the program's own (cli/drill_command.cpp), which stops on a command that does not read.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "import/flag_list.h"
#include "reason/drill.h"

namespace shardplan {

inline DrillReader test_reader() {
  return {[](const DrillCommand& command) {
            const Purpose purpose = command.command == "memory" ? Purpose::kMemory : Purpose::kPlan;
            const auto question = question_from_flags(purpose, command.flags, catalog());
            EXPECT_TRUE(question) << text(command) << ": " << question.error().message;
            return question.value();
          },
          [](const DrillCommand& command) {
            const auto question = comm_question_from_flags(command.flags, catalog());
            EXPECT_TRUE(question) << text(command) << ": " << question.error().message;
            return question.value();
          },
          [](const DrillCommand& command) {
            const auto question = serve_question_from_flags(command.flags, catalog());
            EXPECT_TRUE(question) << text(command) << ": " << question.error().message;
            return question.value();
          }};
}

inline DrillSolution solved(int drill, const std::string& id) {
  for (const DrillScenario& scenario : find_drill(drill)->scenarios) {
    if (scenario.id == id) return solve_scenario(scenario, test_reader());
  }
  ADD_FAILURE() << "no scenario " << id;
  return {};
}

/// The row of that label in any table, in SI; a row that is not there fails the test.
inline double row_value(const DrillSolution& solution, const std::string& label) {
  for (const DrillTable& table : solution.tables) {
    for (const Figure& row : table.rows) {
      if (row.label == label) return row.value;
    }
  }
  ADD_FAILURE() << "no row \"" << label << "\" in " << solution.id;
  return 0;
}

}  // namespace shardplan
