// shardplan validate: predictions against measurements in the published corpus's columns.
#include <algorithm>
#include <memory>

#include "cli/commands.h"

namespace shardplan::cli {
namespace {

constexpr std::size_t kCorpusBytesMax = std::size_t{64} << 20U;

struct Typed {
  std::string kind;
  std::vector<std::string> files;
  std::vector<std::string> leave_out;
  std::optional<std::string> bar;
  std::optional<double> over;
  std::optional<std::string> catalog, fabric, unseen;
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

/// Of collectives, a source has a series for each collective: "SYSTEM, all-reduce".
template <class Row>
bool left_out(const Row& row, const std::vector<std::string>& sources) {
  return std::any_of(sources.begin(), sources.end(), [&](const std::string& source) {
    return row.source == source || row.source.starts_with(source + ", ");
  });
}

struct Kind {
  const char* name;
  const char* unit;
  std::vector<const char*> columns;
  const char* measured;  // of the columns, what was measured
  const char* source;    // the column that --leave-out names
  Validation (*validate)(const CsvTable& table, const Catalog& catalog);
};
const Kind kKinds[] = {
    {kTimeBand, "s", {"id", "framework", "status"}, "step", "source_key", validate_time},
    {kMemoryBand,
     "bytes",
     {"id", "framework", "peak_mem_gb", "mem_counter"},
     "peak",
     "source_key",
     validate_memory},
    {kCollectiveKind,
     "s",
     {"collective", "ranks", "hardware", "bytes", "time_us"},
     "time",
     "system",
     validate_collectives},
};

/// A source to leave out that no row is of; nothing where all are known.
std::optional<Error> unknown_source(const Typed& typed, const std::vector<std::string>& sources) {
  for (const std::string& source : typed.leave_out) {
    if (std::find(sources.begin(), sources.end(), source) != sources.end()) continue;
    return Error{"unknown_name", "no row is of source \"" + source + "\"", "--leave-out",
                 "a source_key of the files", nearest_name(source, sources)};
  }
  return std::nullopt;
}

/// A file as a table: CSV, or of collectives what nccl-tests printed.
Result<CsvTable> read_table(const Typed& typed, const Kind& kind, const std::string& file) {
  const Result<std::string> text = read_text_file(file, kCorpusBytesMax);
  if (!text) return text.error();
  const bool log = kind.name == std::string(kCollectiveKind) && is_nccl_log(*text);
  return log ? read_nccl_log(*text, file, typed.fabric.value_or("")) : read_csv(*text, file);
}

/// The rows of all the files, or what is wrong with one of them.
Result<Validation> read_rows(const Typed& typed, const Kind& kind) {
  std::vector<std::string> sources;
  const Result<Catalog> own = typed.catalog ? read_catalog(*typed.catalog) : Catalog{};
  if (!own) return own.error();
  const Catalog& constants = typed.catalog ? *own : catalog();
  Validation all{kind.name, kind.unit, {}, {}, {}, {}};
  for (const std::string& file : typed.files) {
    if (std::count(typed.files.begin(), typed.files.end(), file) > 1) {
      return Error{"conflict", file + " is given twice", "FILE", "each file once", ""};
    }
    const Result<CsvTable> table = read_table(typed, kind, file);
    if (!table) return table.error();
    for (const char* column : kind.columns) {
      if (table->has(column)) continue;
      return Error{"missing_column", std::string("no column ") + column, file + ":1",
                   "the columns of docs/reference/validation.md", ""};
    }
    for (std::size_t i = 0; i < table->size(); ++i) sources.push_back(table->at(i, kind.source));
    const Validation one = typed.calibrate ? validate_collectives_calibrated(*table, constants)
                                           : kind.validate(*table, constants);
    for (const ValidatedRow& row : one.rows) {
      if (!left_out(row, typed.leave_out)) all.rows.push_back(row);
    }
    for (const ValidatedRow& row : one.again) {
      if (!left_out(row, typed.leave_out)) all.again.push_back(row);
    }
    for (const JudgedRow& row : one.judged) {
      if (!left_out(row, typed.leave_out)) all.judged.push_back(row);
    }
    for (const SkippedRow& row : one.skipped) {
      if (!left_out(row, typed.leave_out)) all.skipped.push_back(row);
    }
  }
  std::sort(sources.begin(), sources.end());
  sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  if (const auto error = unknown_source(typed, sources)) return *error;
  if (!all.rows.empty()) return all;
  return Error{"no_rows",
               "no row could be evaluated; " + std::to_string(all.skipped.size()) + " skipped" +
                   (all.skipped.empty() ? "" : ", the first because " + all.skipped.front().reason),
               typed.files.front(), std::string("rows with a measured ") + kind.measured, ""};
}

/// What the rows are predicted by constants that were fitted without their source.
std::optional<Error> take_unseen(const std::string& file, Validation& rows) {
  const Result<std::string> text = read_text_file(file, kCorpusBytesMax);
  if (!text) return text.error();
  const Result<CsvTable> table = read_csv(*text, file);
  if (!table) return table.error();
  for (const char* column : {"id", "left_out_s"}) {
    if (!table->has(column))
      return Error{"missing_column", std::string("no column ") + column, file + ":1", "id and left_out_s",
                   ""};
  }
  take_left_out(*table, rows);
  return std::nullopt;
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
  if (collectives || (!typed.calibrate && !typed.fabric)) return std::nullopt;
  const char* flag = typed.calibrate ? "--calibrate" : "--fabric";
  return Error{"conflict", std::string(flag) + " is for collectives", flag, "--kind collective", ""};
}

int run(const Typed& typed, const Output& output) {
  const Kind* kind =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& k) { return typed.kind == k.name; });
  if (kind == std::end(kKinds)) {
    return output.error(unknown_name("kind", typed.kind, "--kind", {kMemoryBand, kTimeBand, kCollectiveKind},
                                     "training-memory, training-time or collective"));
  }
  const bool collectives = kind->name == std::string(kCollectiveKind);
  if (const auto error = misplaced_flag(typed, collectives)) return output.error(*error);
  const Result<Bar> bar = typed.bar ? read_bar(*typed.bar) : Bar{};
  if (!bar) return output.error(bar.error());
  if (typed.over && !(*typed.over >= 0)) {
    return output.error({"bad_value", "not a share", "--over", "a fraction of 0 or more, as 0.15", ""});
  }
  Result<Validation> read = read_rows(typed, *kind);
  if (!read) return output.error(read.error());
  Validation rows = std::move(read).value();
  if (typed.unseen) {
    if (const auto error = take_unseen(*typed.unseen, rows)) return output.error(*error);
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
  command->add_option("--kind", typed->kind, "training-time, training-memory or collective")->required();
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
  add_json_flag(*command, program);
  command->callback([typed, &program] { program.status = run(*typed, program.output); });
}

}  // namespace shardplan::cli
