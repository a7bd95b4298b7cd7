// shardplan serve: does a model serve, how fast, and what binds.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/output_file.h"
#include "cli/serve_launches.h"

namespace shardplan::cli {
namespace {

struct Typed {
  ServeSpec spec;
  bool explain = false, launch = false;
  std::optional<std::string> report;  // a file
  std::optional<std::string> front;   // a file
};

constexpr const char* kFront = "--pareto";
constexpr const char* kExport = "--export";

int run(const Typed& typed, const Output& output) {
  if (typed.report) {
    if (const auto error = report_error(*typed.report)) return output.error(*error);
  }
  if (typed.front) {
    if (const auto error = file_error(*typed.front, kFront, {".csv", ".svg"},
                                      "a file that ends in .csv (a table) or .svg (a picture)"))
      return output.error(*error);
  }
  const Result<ServeQuestion> question = build_serve_question(typed.spec, catalog());
  if (!question) return output.error(question.error());
  if (typed.launch && question->memory.rule == PoolRule::kReserve)
    return output.error({"conflict", "there is no launch command without an engine", kExport,
                         "--engine vllm, sglang or trtllm", ""});
  if (const auto broken = why_no_split(*question)) return output.error(*broken);
  const ServeAnswer answer = serve_answer(*question, catalog().serving_evidence);
  std::string text = serve_text(answer);
  Json json = serve_json(answer);
  if (typed.explain) {
    const TraceRoots roots = serve_roots(answer, traced_cost(answer));
    text += "\n" + explain_text(roots);
    json["explanation"] = explain_json(roots);
  }
  if (typed.launch) {
    const std::string model = typed.spec.model.value_or(typed.spec.preset.value_or("MODEL"));
    const std::vector<ServeLaunch> launches = serve_launches(answer, model);
    text += launches_text(answer, launches);
    json["launches"] = launches_json(answer, launches);
  }
  if (typed.front) {
    const bool picture = extension(*typed.front) == ".svg";
    if (const auto error =
            write_file(*typed.front, kFront, picture ? serve_front_svg(answer) : serve_front_csv(answer)))
      return output.error(*error);
    text += "\nthe front is in " + *typed.front + "\n";
    json["pareto_file"] = *typed.front;
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
  CLI::App* command =
      app.add_subcommand("serve", "the best way to serve: memory, time of a token, what binds");
  for (const ServeFlag& flag : serve_flags()) {
    command->add_option(flag.flag, typed->spec.*flag.text, flag.help)->type_name("");
  }
  command->add_flag("--explain", typed->explain, "every formula that was used, with the numbers in");
  command->add_flag(kExport, typed->launch, "the engine's command that starts what the answer shows");
  command
      ->add_option(kFront, typed->front,
                   "the front between tokens of a GPU and of a user to FILE.csv or FILE.svg")
      ->type_name("");
  command->add_option(kReport, typed->report, kReportHelp)->type_name("");
  add_json_flag(*command, program);
  command->callback([typed, &program] { program.status = run(*typed, program.output); });
}

}  // namespace shardplan::cli
