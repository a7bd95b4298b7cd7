#include "report/drill_report.h"

#include <gmock/gmock.h>

#include "import/drill_answer.h"
#include "reason/drill_reader_test.h"

namespace shardplan {
namespace {

using testing::HasSubstr;

TEST(DrillReport, TemplatesParseAndFail) {
  for (const Drill& drill : drills()) {
    const auto answer = read_drill_answer(drill_template(drill), "template.toml", drill_form());
    ASSERT_TRUE(answer) << answer.error().where << ": " << answer.error().message;
    EXPECT_EQ(answer->scenarios.size(), drill.scenarios.size());
    const DrillGrade grade = grade_drill(drill, *answer, test_reader());
    for (const DrillLine& line : grade.lines)
      EXPECT_FALSE(line.passed) << line.scenario << " " << line.rubric;
  }
}

TEST(DrillReport, JsonHasTheContractsKeys) {
  const Drill& drill = *find_drill(2);
  const Json json = drill_solution_json(drill, solve_drill(drill, test_reader()));
  EXPECT_EQ(json.at("drill"), 2);
  ASSERT_EQ(json.at("scenarios").size(), 4U);
  for (const Json& s : json.at("scenarios")) {
    for (const char* key : {"id", "question", "plan", "binding_constraint", "axes", "failure_modes",
                            "thresholds", "unknowns", "not_used"}) {
      EXPECT_TRUE(s.contains(key)) << key;
    }
  }
  const DrillGrade grade = grade_drill(drill, {2, {}}, test_reader());
  const Json graded = drill_grade_json(grade);
  EXPECT_EQ(graded.at("passed"), false);
  for (const char* key : {"scenario", "rubric", "passed", "reason"})
    EXPECT_TRUE(graded.at("lines")[0].contains(key));
}

TEST(DrillReport, TextAndJsonShowTheSameNumbers) {
  const Drill& drill = *find_drill(1);
  const auto solutions = solve_drill(drill, test_reader());
  const std::string text = drill_solution_text(drill, solutions);
  EXPECT_THAT(text, HasSubstr("$ shardplan memory --params 175"));
  for (const DrillSolution& s : solutions) {
    for (const DrillTable& table : s.tables) {
      for (const Figure& row : table.rows) EXPECT_THAT(text, HasSubstr(shardplan::text(row)));
    }
  }
}

TEST(DrillReport, ListAndQuestionsNameEveryScenario) {
  for (const Drill& drill : drills()) {
    for (const DrillScenario& s : drill.scenarios) {
      EXPECT_THAT(drill_list_text(), HasSubstr(s.id));
      EXPECT_THAT(drill_question_text(drill), HasSubstr(s.title));
    }
  }
}

}  // namespace
}  // namespace shardplan
