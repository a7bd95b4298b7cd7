// shardplan serve: does a model serve, how fast, and what binds.
#include <memory>
#include <optional>
#include <string>

#include "cli/commands.h"
#include "cli/output_file.h"

namespace shardplan::cli {
namespace {

struct Typed {
  ServeSpec spec;
  bool explain = false;
  std::optional<std::string> report;  // a file
};

int run(const Typed& typed, const Output& output) {
  if (typed.report) {
    if (const auto error = report_error(*typed.report)) return output.error(*error);
  }
  const Result<ServeQuestion> question = build_serve_question(typed.spec, catalog());
  if (!question) return output.error(question.error());
  const Question& asked = question->question;
  if (const auto illegal = why_illegal(asked, asked.fixed))
    return output.error(illegal_axes(asked, asked.fixed, *illegal, told_axes(typed.spec)));
  const ServeAnswer answer = serve_answer(*question);
  std::string text = serve_text(answer);
  Json json = serve_json(answer);
  if (typed.explain) {
    const DecodeCase shown = decode_case(*question, answer.shown().plan);
    const TraceRoots roots = serve_roots(decode_cost<Traced>(question->question, shown));
    text += "\n" + explain_text(roots);
    json["explanation"] = explain_json(roots);
  }
  if (typed.report) {
    if (const auto error = write_file(*typed.report, kReport, serve_html(answer)))
      return output.error(*error);
    add_report(*typed.report, text, json);
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
  command->add_option(kReport, typed->report, kReportHelp)->type_name("");
  add_json_flag(*command, program);
  command->callback([typed, &program] { program.status = run(*typed, program.output); });
}

}  // namespace shardplan::cli
