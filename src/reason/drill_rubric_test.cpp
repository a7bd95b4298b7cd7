#include "reason/drill_rubric.h"

#include <gmock/gmock.h>

#include <regex>

#include "import/drill_answer.h"
#include "import/json_text.h"
#include "reason/drill_reader_test.h"

namespace shardplan {
namespace {

using testing::HasSubstr;

DrillAnswer answer_file(const std::string& name) {
  const auto text = read_text_file(std::string(SHARDPLAN_SOURCE_DIR) + "/tests/data/drill/" + name);
  const auto answer = read_drill_answer(*text, name, drill_form());
  EXPECT_TRUE(answer) << answer.error().where << ": " << answer.error().message;
  return answer.value();
}

DrillGrade graded(const DrillAnswer& answer) {
  return grade_drill(*find_drill(answer.drill), answer, test_reader());
}

const DrillLine& line(const DrillGrade& grade, const std::string& scenario, const std::string& rubric) {
  for (const DrillLine& l : grade.lines) {
    if (l.scenario == scenario && l.rubric == rubric) return l;
  }
  ADD_FAILURE() << "no line " << scenario << " " << rubric;
  return grade.lines.front();
}

void expect_fails(const DrillGrade& grade, const std::string& scenario, const std::string& rubric,
                  const std::string& why) {
  const DrillLine& l = line(grade, scenario, rubric);
  EXPECT_FALSE(l.passed) << scenario << " " << rubric;
  EXPECT_THAT(l.reason, HasSubstr(why)) << scenario << " " << rubric;
}

TEST(DrillRubric, AGoodAnswerPasses) {
  const DrillGrade grade = graded(answer_file("good-2.toml"));
  for (const DrillLine& l : grade.lines)
    EXPECT_TRUE(l.passed) << l.scenario << " " << l.rubric << ": " << l.reason;
  EXPECT_TRUE(grade.passed);
  EXPECT_EQ(grade.lines.size(), 20U);
}

TEST(DrillRubric, AWrongAnswerFailsForTheRightReason) {
  const DrillGrade grade = graded(answer_file("bad-2.toml"));
  EXPECT_FALSE(grade.passed);
  expect_fails(grade, "A", "constraint", "compute binds");
  expect_fails(grade, "A", "product", "multiply to 32");
  EXPECT_TRUE(line(grade, "A", "axes").passed);
  expect_fails(grade, "B", "constraint", "within 5.0 %");
  expect_fails(grade, "B", "axes", "without a number");
  expect_fails(grade, "B", "failure_mode", "no symptom");
  expect_fails(grade, "B", "unknowns", "named");
  expect_fails(grade, "B", "product", "does not fit");
  expect_fails(grade, "C", "constraint", "\"memory\"");
  expect_fails(grade, "C", "axes", "a plan exists");
  expect_fails(grade, "C", "failure_mode", "repeats");
  expect_fails(grade, "C", "product", "a plan exists");
  expect_fails(grade, "D", "constraint", "without a number");
  expect_fails(grade, "D", "unknowns", "named");
  expect_fails(grade, "D", "product", "does not divide 96 heads");
}

TEST(DrillRubric, AnEmptyAnswerFailsEveryLine) {
  for (const Drill& drill : drills()) {
    const DrillGrade grade = graded({drill.number, {}});
    EXPECT_FALSE(grade.passed);
    EXPECT_EQ(grade.lines.size(), 5 * drill.scenarios.size());
    for (const DrillLine& l : grade.lines) EXPECT_FALSE(l.passed);
  }
}

TEST(DrillRubric, NoPlanIsRightOnlyWhereNothingFits) {
  DrillAnswer answer{1, {}};
  for (const char* id : {"8", "16"}) {
    DrillAnswer::Scenario s;
    s.id = id;
    s.no_plan = true;
    s.constraint = {"state", "325.96 GiB on each of 8 GPUs"};
    answer.scenarios.push_back(s);
  }
  const DrillGrade grade = graded(answer);
  EXPECT_TRUE(line(grade, "8", "constraint").passed);
  EXPECT_TRUE(line(grade, "8", "product").passed);
  expect_fails(grade, "16", "product", "a plan exists");
}

TEST(DrillRubric, APlanWhereNoneExistsFails) {
  DrillAnswer answer{1, {{"8", false, Plan{}, {}, {}, {}, {}}}};
  answer.scenarios[0].plan->dp = 8;
  answer.scenarios[0].plan->zero_stage = 3;
  expect_fails(graded(answer), "8", "product", "no plan exists");
}

TEST(DrillRubric, ReplicasThatMissTheLimitFail) {
  DrillAnswer answer{2, {{"D", false, Plan{}, {}, {}, {}, {}}}};
  answer.scenarios[0].plan->tp = 4;
  answer.scenarios[0].plan->dp = 16;
  expect_fails(graded(answer), "D", "product", "the limit is 25 ms");
}

TEST(DrillRubric, HugeDegreesAreCounted) {
  DrillAnswer answer{3, {{"inside-node", false, Plan{}, {}, {}, {}, {}}}};
  Plan& plan = *answer.scenarios[0].plan;
  plan.dp = plan.tp = plan.pp = plan.cp = 1 << 24;
  expect_fails(graded(answer), "inside-node", "product", "multiply to");
}

/// What the worked answers say, as a reader would.
DrillAnswer worked_answer(const Drill& drill) {
  DrillAnswer answer{drill.number, {}};
  for (const DrillSolution& s : solve_drill(drill, test_reader())) {
    DrillAnswer::Scenario told;
    told.id = s.id;
    told.no_plan = !s.plan;
    told.plan = s.plan;
    told.constraint = {s.findings.binding.kind, s.findings.binding.statement};
    for (const AxisFinding& x : s.findings.axes) told.axes.push_back({x.axis, x.reason});
    told.failure_mode = {"what is accepted", "what would be seen"};
    for (const Unknown& u : s.findings.unknowns) told.unknowns.push_back(u.statement);
    answer.scenarios.push_back(told);
  }
  return answer;
}

TEST(DrillRubric, TheWorkedAnswersPassTheirOwnRubric) {
  for (const Drill& drill : drills()) {
    for (const DrillLine& l : graded(worked_answer(drill)).lines) {
      EXPECT_TRUE(l.passed) << drill.number << " " << l.scenario << " " << l.rubric << ": " << l.reason;
    }
  }
}

/// The text with one of its quantities, in a unit that is graded, changed; nothing where there are no more.
std::optional<std::string> with_wrong_number(const std::string& text, int which) {
  static const std::regex kQuantity(R"((\d[\d,.]*) (GiB|MiB|KiB|GB/s|MB/s|ms|us|s)(?![\w/]))");
  auto at = std::sregex_iterator(text.begin(), text.end(), kQuantity);
  for (; which > 0 && at != std::sregex_iterator(); --which) ++at;
  if (at == std::sregex_iterator()) return std::nullopt;
  return text.substr(0, static_cast<std::size_t>(at->position())) + "0.0000314 " + (*at)[2].str() +
         text.substr(static_cast<std::size_t>(at->position() + at->length()));
}

/// Of the lines of that one scenario.
void expect_only(int drill, const DrillAnswer::Scenario& told, const std::string& rubric) {
  int lines = 0;
  for (const DrillLine& l : graded({drill, {told}}).lines) {
    if (l.scenario != told.id) continue;
    ++lines;
    EXPECT_EQ(l.passed, l.rubric != rubric)
        << drill << " " << l.scenario << " " << l.rubric << ": " << l.reason;
  }
  EXPECT_EQ(lines, 5);
}

TEST(DrillRubric, OneWrongNumberFailsItsLineAlone) {
  int changed = 0;
  for (const Drill& drill : drills()) {
    for (const DrillAnswer::Scenario& right : worked_answer(drill).scenarios) {
      // The first number and one behind it.
      for (const int which : {0, 2}) {
        DrillAnswer::Scenario told = right;
        if (const auto wrong = with_wrong_number(told.constraint.statement, which)) {
          told.constraint.statement = *wrong;
          expect_only(drill.number, told, "constraint");
          ++changed;
        }
      }
      if (right.axes.empty()) continue;
      DrillAnswer::Scenario told = right;
      if (const auto wrong = with_wrong_number(told.axes.front().why, 0)) {
        told.axes.front().why = *wrong;
        expect_only(drill.number, told, "axes");
        ++changed;
      }
    }
  }
  EXPECT_GE(changed, 30);
}

TEST(DrillRubric, AWrongDegreeFailsTheProductAlone) {
  DrillAnswer::Scenario told = worked_answer(*find_drill(2)).scenarios[1];
  told.plan->dp /= 2;
  expect_only(2, told, "product");
}

}  // namespace
}  // namespace shardplan
