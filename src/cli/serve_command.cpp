// shardplan serve: does a model serve, how fast, and what binds.
#include <memory>

#include "cli/commands.h"

namespace shardplan::cli {
namespace {

struct Typed {
  ServeSpec spec;
  bool explain = false;
};

int run(const Typed& typed, const Output& output) {
  const Result<ServeQuestion> question = build_serve_question(typed.spec, catalog());
  if (!question) return output.error(question.error());
  if (const auto illegal = why_illegal(question->question, question->question.fixed))
    return output.error(illegal_plan(*illegal));
  const ServeAnswer answer = serve_answer(*question);
  std::string text = serve_text(answer);
  Json json = serve_json(answer);
  if (typed.explain) {
    const DecodeCase shown = decode_case(*question, answer.shown().plan);
    const TraceRoots roots = serve_roots(decode_cost<Traced>(question->question, shown));
    text += "\n" + explain_text(roots);
    json["explanation"] = explain_json(roots);
  }
  return output.answer(text, json, answer.feasible());
}

}  // namespace

void add_serve_command(CLI::App& app, Program& program) {
  const auto typed = std::make_shared<Typed>();
  CLI::App* command = app.add_subcommand("serve", "does it serve: memory, time of a token, what binds");
  for (const ServeFlag& flag : serve_flags()) {
    command->add_option(flag.flag, typed->spec.*flag.text, flag.help)->type_name("");
  }
  command->add_flag("--explain", typed->explain, "every formula that was used, with the numbers in");
  add_json_flag(*command, program);
  command->callback([typed, &program] { program.status = run(*typed, program.output); });
}

}  // namespace shardplan::cli
