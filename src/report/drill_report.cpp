#include "report/drill_report.h"

#include <algorithm>

#include "report/finding_lines.h"
#include "report/layout.h"
#include "report/table.h"

namespace shardplan {
namespace {

std::string heading(const Drill& drill) {
  return "drill " + std::to_string(drill.number) + ": " + drill.name + "\n";
}

std::string table_text(const DrillTable& table) {
  Table rows;
  for (const Figure& f : table.rows) rows.row({f.label, text(f), f.note});
  std::string out = "\n" + table.title + "\n" + rows.text("  ", true);
  for (const DrillCommand& command : table.commands) out += "$ " + text(command) + "\n";
  return out;
}

std::string plan_line(const DrillSolution& s) {
  if (!s.plan) return "plan     none exists on " + std::to_string(s.gpus) + " GPUs\n";
  return "plan     " + canonical(*s.plan) + " on " + std::to_string(s.gpus) + " GPUs\n";
}

Json table_json(const DrillTable& table) {
  Json rows = Json::array(), commands = Json::array();
  for (const Figure& f : table.rows) {
    rows.push_back({{"label", f.label}, {"value", f.value}, {"unit", f.unit}, {"note", f.note}});
  }
  for (const DrillCommand& command : table.commands) commands.push_back(text(command));
  return {{"title", table.title}, {"rows", rows}, {"commands", commands}};
}

}  // namespace

std::string drill_list_text() {
  Table table;
  for (const Drill& drill : drills()) {
    std::string ids;
    for (const DrillScenario& s : drill.scenarios) ids += (ids.empty() ? "" : ", ") + std::string(s.id);
    table.row({std::to_string(drill.number) + "  " + drill.name, ids});
  }
  return table.text("", true);
}

Json drill_list_json() {
  Json list = Json::array();
  for (const Drill& drill : drills()) {
    Json scenarios = Json::array();
    for (const DrillScenario& s : drill.scenarios) scenarios.push_back({{"id", s.id}, {"title", s.title}});
    list.push_back(
        {{"drill", drill.number}, {"name", drill.name}, {"goal", drill.goal}, {"scenarios", scenarios}});
  }
  return {{"schema_version", kSchemaVersion}, {"drills", list}};
}

std::string drill_question_text(const Drill& drill) {
  std::string out = heading(drill) + wrap(drill.goal, "", "");
  for (const DrillScenario& s : drill.scenarios) {
    out += "\n" + std::string(s.id) + ": " + s.title + "\n" + wrap(s.question, "  ", "  ");
  }
  out +=
      "\nFor each: what binds, with its number; the degrees, which multiply to the GPUs; the tier of each\n"
      "axis and the least bandwidth it needs; the failure you accept and its symptom; one parameter and the\n"
      "threshold that would change the answer; an axis you leave out and why; what nobody here knows.\n";
  return out;
}

Json drill_question_json(const Drill& drill) {
  Json scenarios = Json::array();
  for (const DrillScenario& s : drill.scenarios) {
    scenarios.push_back({{"id", s.id}, {"title", s.title}, {"question", s.question}});
  }
  return {{"schema_version", kSchemaVersion},
          {"drill", drill.number},
          {"name", drill.name},
          {"goal", drill.goal},
          {"scenarios", scenarios}};
}

std::string drill_template(const Drill& drill) {
  std::string out = "# Answer to drill " + std::to_string(drill.number) + ", " + drill.name +
                    ". The form: docs/reference/drill-answers.md\ndrill = " + std::to_string(drill.number) +
                    "\n";
  for (const DrillScenario& s : drill.scenarios) {
    const std::string table = "scenario." + std::string(s.id);
    out +=
        "\n[" + table + "]  # " + s.title +
        "\nno_plan = false  # true: nothing fits; then leave the plan empty\n" +
        "axes = []  # { axis = \"tp\", why = \"a number with its unit\" } for each degree above 1\n" +
        "unknowns = []\n\n[" + table +
        ".constraint]\nkind = \"\"\nstatement = \"\"  # with a number and its unit\n\n[" + table +
        ".plan]  # dp, tp, pp, cp, ep, micro_batch (left out: 1), zero_stage (0), recompute (\"none\")\n\n[" +
        table + ".failure_mode]\nstatement = \"\"\nsymptom = \"\"\n";
  }
  return out;
}

std::string drill_solution_text(const Drill& drill, const std::vector<DrillSolution>& solutions) {
  std::string out = heading(drill);
  for (std::size_t i = 0; i < solutions.size(); ++i) {
    const DrillSolution& s = solutions[i];
    out += "\n" + s.id + ": " + drill.scenarios[i].title + "\n" + wrap(s.question, "  ", "  ") + "\n";
    out += wrap(s.findings.binding.kind + ". " + s.findings.binding.statement, "binding  ", "         ");
    if (!(s.binds == s.asked)) out += "$ " + text(s.binds) + "\n";
    out += plan_line(s) + "$ " + text(s.asked) + "\n";
    if (s.findings.nothing_fits) out += "\n" + nothing_fits_lines(s.findings);
    for (const DrillTable& table : s.tables) out += table_text(table);
    out += finding_lines(s.findings);
  }
  return out;
}

Json drill_solution_json(const Drill& drill, const std::vector<DrillSolution>& solutions) {
  Json scenarios = Json::array();
  for (const DrillSolution& s : solutions) {
    Json one{{"id", s.id},
             {"question", s.question},
             {"gpus", s.gpus},
             {"commands", {{"binding_constraint", text(s.binds)}, {"findings", text(s.asked)}}}};
    one["plan"] = s.plan ? plan_json(*s.plan) : Json(nullptr);
    add_findings(s.findings, one);
    one["nothing_fits"] = nothing_fits_json(s.findings.nothing_fits);
    one["tables"] = Json::array();
    for (const DrillTable& table : s.tables) one["tables"].push_back(table_json(table));
    scenarios.push_back(one);
  }
  return {{"schema_version", kSchemaVersion}, {"drill", drill.number}, {"scenarios", scenarios}};
}

std::string drill_grade_text(const DrillGrade& grade) {
  const auto passed =
      std::count_if(grade.lines.begin(), grade.lines.end(), [](const DrillLine& l) { return l.passed; });
  std::string out = "drill " + std::to_string(grade.drill) + ": " + (grade.passed ? "passed" : "not passed") +
                    ", " + std::to_string(passed) + " of " + std::to_string(grade.lines.size()) + " lines\n";
  for (const DrillLine& line : grade.lines) {
    const std::string first =
        "  " + line.scenario + "  " + (line.passed ? "ok  " : "FAIL") + "  " + line.rubric + ": ";
    out += wrap(line.reason, first, "        ");
  }
  return out;
}

Json drill_grade_json(const DrillGrade& grade) {
  Json lines = Json::array();
  for (const DrillLine& line : grade.lines) {
    lines.push_back({{"scenario", line.scenario},
                     {"rubric", line.rubric},
                     {"passed", line.passed},
                     {"reason", line.reason}});
  }
  return {
      {"schema_version", kSchemaVersion}, {"drill", grade.drill}, {"passed", grade.passed}, {"lines", lines}};
}

}  // namespace shardplan
