#include <memory>

#include "cli/commands.h"
#include "cli/output_file.h"

namespace shardplan::cli {
namespace {

constexpr const char* kSvg = "--svg";

struct Typed {
  CommSpec spec;
  std::optional<std::string> svg;
  bool explain = false;
};

int sweep(const Typed& typed, const CommQuestion& question, const Output& output) {
  if (typed.explain) {
    return output.error(
        {"conflict", "a sweep has too many results to explain", "--explain", "one size: --bytes", ""});
  }
  const CommSweep answer = sweep_comm(question, *question.sweep);
  if (typed.svg) {
    OutputFile file(*typed.svg, kSvg);
    file.write(comm_sweep_svg(answer));
    if (const auto error = file.finish()) return output.error(*error);
  }
  return output.answer(comm_sweep_text(answer), comm_sweep_json(answer));
}

int run(const Typed& typed, const Output& output) {
  if (typed.svg) {
    if (const auto error = file_error(*typed.svg, kSvg, {".svg"}, "a file that ends in .svg"))
      return output.error(*error);
  }
  const Result<CommQuestion> question = build_comm_question(typed.spec, catalog());
  if (!question) return output.error(question.error());
  if (question->sweep) return sweep(typed, *question, output);
  if (typed.svg) return output.error({"conflict", "the drawing is of a sweep", kSvg, "--sweep 8B:16GB", ""});
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
  command->add_option(kSvg, typed->svg, "a file for a drawing of the sweep");
  add_json_flag(*command, program);
  command->callback([typed, &program] { program.status = run(*typed, program.output); });
}

}  // namespace shardplan::cli
