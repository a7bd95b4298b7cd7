// shardplan drill list|show|solve|check: the course's drills.
#include <cassert>
#include <memory>

#include "cli/commands.h"

namespace shardplan::cli {
namespace {

struct Typed {
  std::string number;
  std::string file;
  bool empty_form = false;
};

/// The drills' commands are read as a person's are; one that does not read is a mistake in the program.
DrillReader reader() {
  return {[](const DrillCommand& command) {
            const Purpose purpose = command.command == "memory" ? Purpose::kMemory : Purpose::kPlan;
            Result<Question> question = question_from_flags(purpose, command.flags, catalog());
            assert(question);
            return std::move(question).value();
          },
          [](const DrillCommand& command) {
            Result<CommQuestion> question = comm_question_from_flags(command.flags, catalog());
            assert(question);
            return std::move(question).value();
          },
          [](const DrillCommand& command) {
            Result<ServeQuestion> question = serve_question_from_flags(command.flags, catalog());
            assert(question);
            return std::move(question).value();
          }};
}

Result<const Drill*> drill_of(const std::string& number, const char* verb) {
  std::string numbers;
  for (const Drill& drill : drills()) {
    const std::string known = std::to_string(drill.number);
    if (number == known) return &drill;
    numbers += (numbers.empty() ? "one of " : ", ") + known;
  }
  return Error{"unknown_name", "no drill \"" + printable(number) + "\"", std::string(verb) + ": N",
               numbers + ", as shardplan drill list shows them", ""};
}

int show(const Typed& typed, const Output& output) {
  const Result<const Drill*> found = drill_of(typed.number, "drill show");
  if (!found) return output.error(found.error());
  const Drill* drill = *found;
  if (typed.empty_form) return output.page(drill_template(*drill), "--template");
  return output.answer(drill_question_text(*drill), drill_question_json(*drill));
}

int solve(const Typed& typed, const Output& output) {
  const Result<const Drill*> found = drill_of(typed.number, "drill solve");
  if (!found) return output.error(found.error());
  const Drill* drill = *found;
  const std::vector<DrillSolution> solutions = solve_drill(*drill, reader());
  return output.answer(drill_solution_text(*drill, solutions), drill_solution_json(*drill, solutions));
}

int check(const Typed& typed, const Output& output) {
  if (typed.file.empty()) return output.error({"missing_argument", "no file", "drill check", "FILE", ""});
  const Result<std::string> text = read_text_file(typed.file, kDrillAnswerBytesMax);
  if (!text) return output.error(text.error());
  const Result<DrillAnswer> answer = read_drill_answer(*text, typed.file, drill_form());
  if (!answer) return output.error(answer.error());
  const Drill* drill = find_drill(answer->drill);
  assert(drill != nullptr);  // the form names them
  const DrillGrade grade = grade_drill(*drill, *answer, reader());
  return output.answer(drill_grade_text(grade), drill_grade_json(grade), grade.passed);
}

CLI::App* add_verb(CLI::App& drill, Program& program, const std::shared_ptr<Typed>& typed, const char* name,
                   const char* help, int (*run)(const Typed&, const Output&)) {
  CLI::App* verb = drill.add_subcommand(name, help);
  add_json_flag(*verb, program);
  verb->callback([typed, &program, run] { program.status = run(*typed, program.output); });
  return verb;
}

int list(const Typed&, const Output& output) { return output.answer(drill_list_text(), drill_list_json()); }

}  // namespace

void add_drill_command(CLI::App& app, Program& program) {
  const auto typed = std::make_shared<Typed>();
  CLI::App* drill = app.add_subcommand("drill", "the course's drills: asked, solved, graded");
  drill->require_subcommand(1);
  add_verb(*drill, program, typed, "list", "which there are", list);
  CLI::App* shown = add_verb(*drill, program, typed, "show", "what one asks", show);
  shown->add_option("N", typed->number, "number of the drill")->required();
  shown->add_flag("--template", typed->empty_form, "an empty answer to fill in (TOML)");
  CLI::App* solved = add_verb(*drill, program, typed, "solve", "the worked answer", solve);
  solved->add_option("N", typed->number, "number of the drill")->required();
  CLI::App* checked = add_verb(*drill, program, typed, "check", "grades an answer", check);
  checked->add_option("FILE", typed->file, "the answer, TOML or JSON")->required();
}

}  // namespace shardplan::cli
