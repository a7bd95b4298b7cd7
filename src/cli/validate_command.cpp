// shardplan validate: predictions against measurements in the published corpus's columns.
#include <algorithm>
#include <memory>

#include "cli/commands.h"

namespace shardplan::cli {
namespace {

struct Typed {
  std::string kind;
  std::vector<std::string> files;
  std::vector<std::string> leave_out;
  std::optional<std::string> bar;
  std::optional<double> over;
  std::optional<std::string> catalog, fabric, collective, unseen;
  bool bands = false, calibrate = false;
};

struct Bar {
  double median = 0, p90 = 0;  // 0 = none
};

Result<Bar> read_bar(const std::string& text) {
  Bar bar;
  if (text.empty() || text.back() == ',') {
    return Error{"bad_value", text.empty() ? "an empty bar" : "a bar that ends in a comma", "--bar",
                 "median=0.03,p90=0.08 (fractions)", ""};
  }
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string one = text.substr(at, end - at);
    const std::size_t equals = one.find('=');
    const std::string name = one.substr(0, equals);
    const auto value = equals == std::string::npos ? std::nullopt : parse_number(one.substr(equals + 1));
    const bool twice = (name == "median" ? bar.median : bar.p90) > 0;
    if (!value || *value <= 0 || twice || (name != "median" && name != "p90")) {
      return Error{"bad_value", "\"" + one + "\" is not a bar", "--bar", "median=0.03,p90=0.08 (fractions)",
                   ""};
    }
    (name == "median" ? bar.median : bar.p90) = *value;
    at = end + 1;
  }
  return bar;
}

/// A name of a log's network or test that nobody knows.
std::optional<Error> unknown_note(const Typed& typed) {
  if (typed.fabric) {
    if (const auto fabric = find_fabric(catalog(), *typed.fabric, "--fabric"); !fabric) return fabric.error();
  }
  if (!typed.collective) return std::nullopt;
  const Result<Collective> collective = read_collective(*typed.collective, "--collective");
  return collective ? std::nullopt : std::optional<Error>(collective.error());
}

/// The command that a file of evidence says it is from.
std::string made_by(const Typed& typed) {
  std::string command = "shardplan validate --bands --kind " + typed.kind;
  for (const std::string& source : typed.leave_out) command += " --leave-out " + source;
  if (typed.unseen) command += " --unseen " + *typed.unseen;
  for (const std::string& file : typed.files) command += " " + file;
  return command;
}

/// A flag that means nothing for the kind.
std::optional<Error> misplaced_flag(const Typed& typed, bool collectives) {
  if (collectives && typed.bands) {
    return Error{"conflict", "there are no error bands of collectives", "--bands",
                 "--kind training-memory or training-time", ""};
  }
  if (collectives || (!typed.calibrate && !typed.fabric && !typed.collective)) return std::nullopt;
  const char* flag = typed.calibrate ? "--calibrate" : (typed.fabric ? "--fabric" : "--collective");
  return Error{"conflict", std::string(flag) + " is for collectives", flag, "--kind collective", ""};
}

int run(const Typed& typed, const Output& output) {
  const Result<const ValidationKind*> found = validation_kind(typed.kind);
  if (!found) return output.error(found.error());
  const ValidationKind* kind = *found;
  const bool collectives = kind->name == std::string(kCollectiveKind);
  if (const auto error = misplaced_flag(typed, collectives)) return output.error(*error);
  if (const auto error = unknown_note(typed)) return output.error(*error);
  const Result<Bar> bar = typed.bar ? read_bar(*typed.bar) : Bar{};
  if (!bar) return output.error(bar.error());
  if (typed.over && !(*typed.over >= 0)) {
    return output.error({"bad_value", "not a share", "--over", "a fraction of 0 or more, as 0.15", ""});
  }
  const Result<Catalog> own = typed.catalog ? read_catalog(*typed.catalog) : Catalog{};
  if (!own) return output.error(own.error());
  Result<Validation> read =
      validate_files({.kind = *kind,
                      .files = typed.files,
                      .leave_out = typed.leave_out,
                      .told = {typed.fabric.value_or(""), typed.collective.value_or("")},
                      .calibrate = typed.calibrate},
                     typed.catalog ? *own : catalog());
  if (!read) return output.error(read.error());
  Validation rows = std::move(read).value();
  if (typed.unseen) {
    if (const auto error = take_left_out_file(*typed.unseen, rows)) return output.error(*error);
  }
  if (typed.bands)
    return output.page(evidence_text(kind->name, evidence_of(rows), made_by(typed)), "--bands");
  const ErrorStats stats = error_stats(rows.rows);
  const double median = collectives ? series_median(rows) : stats.median_ape;
  const bool met =
      (bar->median == 0 || median <= bar->median) && (bar->p90 == 0 || stats.p90_ape <= bar->p90);
  Json json = validation_json(rows);
  if (collectives) json["series_median_ape"] = median;
  std::string text = validation_text(rows, typed.over);
  if (typed.bar) {
    json["bar_met"] = met;
    text += std::string("\nbar ") + *typed.bar + (met ? " met\n" : " missed\n");
  }
  return output.answer(text, json, met);
}

}  // namespace

void add_validate_command(CLI::App& app, Program& program) {
  const auto typed = std::make_shared<Typed>();
  CLI::App* command = app.add_subcommand("validate", "predictions against published measurements");
  command->add_option("--kind", typed->kind, "training-time, training-memory, collective, serving-kv or serving-tpot")->required();
  command
      ->add_option("FILE", typed->files,
                   "CSV files in the corpus's columns; of collectives also logs of nccl-tests and rccl-tests")
      ->required();
  command->add_option("--bar", typed->bar, "exit 1 if missed: median=0.03,p90=0.08 (fractions)");
  command->add_option("--leave-out", typed->leave_out,
                      "a source_key (of collectives, a system) that is not counted; may be repeated");
  command->add_option("--over", typed->over, "list every row that is off by more than this fraction");
  command->add_option("--catalog", typed->catalog,
                      "folder with the catalog's JSON files, in place of those compiled in");
  command->add_flag("--bands", typed->bands, "error bands and runs as catalog/evidence_*.json has them");
  command->add_option(
      "--unseen", typed->unseen,
      "with --bands: predictions by constants fitted without each row's source (id, left_out_s)");
  command->add_flag("--calibrate", typed->calibrate,
                    "of collectives: fit each series to every other point, report on the rest");
  command->add_option("--fabric", typed->fabric, "the network of a log, which does not name it");
  command->add_option("--collective", typed->collective,
                      "the test of a log that does not name it, as those of old versions");
  add_json_flag(*command, program);
  command->callback([typed, &program] { program.status = run(*typed, program.output); });
}

}  // namespace shardplan::cli
