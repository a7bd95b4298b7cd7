// The course's drills as values: what is asked, the command that asks the same, and the worked answer.
//
//   DrillSolution s = solve_scenario(find_drill(2)->scenarios[0], reader);
//   s.findings.binding.statement   // "compute binds: 501.6 ms of matrix products and attention in a ..."
//   s.tables[0].commands[0]        // shardplan memory --preset llama3-8b --gpus 1 ...
//
// A scenario's numbers are read by the same code that reads a person's flags: the question behind a table is
// the command printed under it. `DrillReader` is that code, handed in by the adapter (import/flag_list.h).
// What is said of a scenario is what the program says to whoever types `asked`; what binds may be asked of
// less than the whole cluster (`binds`): that is why it needs the plan that it has.
//
// Not here: grading (drill_rubric.h), what it looks like (report/drill_report.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "catalog/communication.h"
#include "catalog/question.h"
#include "catalog/serving.h"
#include "reason/answer.h"

namespace shardplan {

/// A command line of this program: "memory", {{"--preset", "llama3-8b"}, {"--gpus", "1"}}.
struct DrillCommand {
  std::string command;
  std::vector<std::pair<std::string, std::string>> flags;
  friend bool operator==(const DrillCommand&, const DrillCommand&) = default;
};
/// "shardplan memory --preset llama3-8b --gpus 1".
std::string text(const DrillCommand& command);
/// The same with one flag set.
DrillCommand with(DrillCommand command, const std::string& flag, const std::string& value);

/// Commands to questions. The drills' commands are part of the program: one that does not read is a mistake
/// in it, and the adapter stops there.
struct DrillReader {
  std::function<Question(const DrillCommand&)> question;
  std::function<CommQuestion(const DrillCommand&)> communication;
  std::function<ServeQuestion(const DrillCommand&)> serving;
};

/// A number with its unit in SI: "bytes", "s", "bytes/s", "FLOP/s", "tokens", "GPUs", "ratio".
struct Figure {
  std::string label;
  double value = 0;
  std::string unit;
  std::string note;
};
std::string text(const Figure& figure);

struct DrillTable {
  std::string title;
  std::vector<Figure> rows;
  std::vector<DrillCommand> commands;
};

struct DrillSolution {
  std::string id;        // "A"
  std::string question;  // as it is asked
  std::int64_t gpus = 0;
  std::optional<Plan> plan;  // none: no plan exists
  DrillCommand asked;        // the findings answer it
  DrillCommand binds;        // the binding constraint answers it
  Answer findings;
  std::vector<DrillTable> tables;
  std::vector<Figure> given;  // what the scenario's hardware and limits are
};

struct DrillScenario {
  const char* id;
  const char* title;
  const char* question;
  DrillSolution (*solve)(const DrillReader& reader);
  /// What is wrong with a reader's plan, or nothing; empty plan = "no plan exists".
  std::optional<std::string> (*wrong)(const std::optional<Plan>& plan, const DrillReader& reader);
};

struct Drill {
  int number;
  const char* name;
  const char* goal;
  std::span<const DrillScenario> scenarios;
};

std::span<const Drill> drills();
const Drill* find_drill(int number);

/// The scenario's worked answer, its id and question filled in.
DrillSolution solve_scenario(const DrillScenario& scenario, const DrillReader& reader);
std::vector<DrillSolution> solve_drill(const Drill& drill, const DrillReader& reader);

// The parts; each file holds one drill.
std::span<const DrillScenario> fit_scenarios();
std::span<const DrillScenario> parallelism_scenarios();
std::span<const DrillScenario> communication_scenarios();

}  // namespace shardplan
