// `shardplan explain ID` and `shardplan formulas`: the registry of formulas, one or all.
#include <memory>

#include "cli/commands.h"

namespace shardplan::cli {
namespace {

int explain(const std::string& id, const Output& output) {
  if (const FormulaEntry* entry = find_formula(id))
    return output.answer(formula_text(*entry), formula_json(*entry));
  std::vector<std::string> ids;
  for (const FormulaEntry& entry : formula_entries()) ids.emplace_back(entry.info->id);
  return output.error(unknown_name("formula", id, "explain", ids, "an id that `shardplan formulas` lists"));
}

int formulas(bool markdown, const Output& output) {
  if (markdown) return output.page(formulas_markdown(), "--markdown");
  return output.answer(formulas_table(), Json{{"formulas", formulas_json()}});
}

}  // namespace

void add_explain_command(CLI::App& app, Program& program) {
  auto id = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("explain", "one formula in full: expression, citation, worked examples");
  command->add_option("ID", *id, "as `shardplan formulas` lists it")->required()->type_name("");
  add_json_flag(*command, program);
  command->callback([id, &program] { program.status = explain(*id, program.output); });
}

void add_formulas_command(CLI::App& app, Program& program) {
  auto markdown = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("formulas", "every formula with its citation");
  command->add_flag("--markdown", *markdown, "the reference page, all of them in full");
  add_json_flag(*command, program);
  command->callback([markdown, &program] { program.status = formulas(*markdown, program.output); });
}

}  // namespace shardplan::cli
