#include <memory>

#include "cli/commands.h"

namespace shardplan::cli {
namespace {

struct Typed {
  CommSpec spec;
  bool explain = false;
};

int run(const Typed& typed, const Output& output) {
  const Result<CommQuestion> question = build_comm_question(typed.spec, catalog());
  if (!question) return output.error(question.error());
  const CommAnswer answer = answer_comm(*question);
  std::string text = comm_text(answer);
  Json json = comm_json(answer);
  if (typed.explain) {
    const TraceRoots roots = comm_roots(comm_cost<Traced>(*question));
    text += "\n" + explain_text(roots);
    json["explanation"] = explain_json(roots);
  }
  return output.answer(text, json, !answer.exposed.value_or(false));
}

}  // namespace

void add_comm_command(CLI::App& app, Program& program) {
  auto typed = std::make_shared<Typed>();
  CLI::App* command = app.add_subcommand("comm", "what a collective costs, and whether it hides");
  for (const CommFlag& flag : comm_flags()) {
    command->add_option(flag.flag, typed->spec.*flag.text, flag.help)->type_name("");
  }
  command->add_flag("--explain", typed->explain, "every formula that was used, with the numbers in");
  add_json_flag(*command, program);
  command->callback([typed, &program] { program.status = run(*typed, program.output); });
}

}  // namespace shardplan::cli
