#include "validate/validation_set.h"

#include <algorithm>

#include "import/json_text.h"
#include "import/nccl_log.h"
#include "validate/bands.h"
#include "validate/collective_validation.h"
#include "validate/memory_validation.h"
#include "validate/serving_kv_validation.h"
#include "validate/serving_tpot_validation.h"
#include "validate/time_validation.h"

namespace shardplan {
namespace {

constexpr std::size_t kCorpusBytesMax = std::size_t{64} << 20U;

const ValidationKind kKinds[] = {
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
    {kServingKvKind,
     "tokens",
     {"model", "gpu", "engine", "metric", "value", "unit", "source"},
     "start-up",
     "source",
     validate_serving_kv},
    {kServingTpotKind,
     "s",
     {"model", "gpu", "engine", "metric", "value", "unit", "source"},
     "TPOT",
     "source",
     validate_serving_tpot},
};

std::optional<Error> missing_column(const CsvTable& table, const std::string& file,
                                    const std::vector<const char*>& columns, const char* expected) {
  for (const char* column : columns) {
    if (!table.has(column))
      return Error{"missing_column", std::string("no column ") + column, file + ":1", expected, ""};
  }
  return std::nullopt;
}

/// What nccl-tests printed, or CSV, which has columns for what is told of a log.
Result<CsvTable> read_text(const ValidationFiles& request, const std::string& text, const std::string& file) {
  const NcclLogNotes& told = request.told;
  if (request.kind.name == std::string(kCollectiveKind) && is_nccl_log(text))
    return read_nccl_log(text, file, told);
  if (told.network.empty() && told.collective.empty()) return read_csv(text, file);
  const char* flag = told.network.empty() ? "--collective" : "--fabric";
  return Error{"conflict", file + " is a table, whose columns say what " + flag + " says", flag,
               "a log of nccl-tests or rccl-tests", ""};
}

Result<CsvTable> read_table(const ValidationFiles& request, const std::string& file) {
  const Result<std::string> text = read_text_file(file, kCorpusBytesMax);
  if (!text) return text.error();
  Result<CsvTable> table = read_text(request, *text, file);
  if (!table) return table;
  if (const auto error =
          missing_column(*table, file, request.kind.columns, "the columns of docs/reference/validation.md"))
    return *error;
  return table;
}

/// Of collectives, a source has a series for each collective: "SYSTEM, all-reduce".
template <class Row>
bool left_out(const Row& row, const std::vector<std::string>& sources) {
  return std::any_of(sources.begin(), sources.end(), [&](const std::string& source) {
    return row.source == source || row.source.starts_with(source + ", ");
  });
}

void append(const Validation& one, const std::vector<std::string>& leave_out, Validation& all) {
  const auto add = [&](const auto& rows, auto& to) {
    for (const auto& row : rows) {
      if (!left_out(row, leave_out)) to.push_back(row);
    }
  };
  add(one.rows, all.rows);
  add(one.again, all.again);
  add(one.judged, all.judged);
  add(one.skipped, all.skipped);
}

/// A source to leave out that no row is of; nothing where all are known.
std::optional<Error> unknown_source(const std::vector<std::string>& leave_out,
                                    std::vector<std::string> sources) {
  std::sort(sources.begin(), sources.end());
  sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  for (const std::string& source : leave_out) {
    if (std::binary_search(sources.begin(), sources.end(), source)) continue;
    return Error{"unknown_name", "no row is of source \"" + source + "\"", "--leave-out",
                 "a source_key of the files", nearest_name(source, sources)};
  }
  return std::nullopt;
}

}  // namespace

Result<const ValidationKind*> validation_kind(const std::string& name) {
  const auto* found =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& k) { return name == k.name; });
  if (found != std::end(kKinds)) return found;
  return Error{
      "unknown_name", "no kind named \"" + name + "\"", "--kind",
      "training-memory, training-time, collective, serving-kv or serving-tpot",
      nearest_name(name, {kMemoryBand, kTimeBand, kCollectiveKind, kServingKvKind, kServingTpotKind})};
}

Result<Validation> validate_files(const ValidationFiles& request, const Catalog& catalog) {
  const ValidationKind& kind = request.kind;
  std::vector<std::string> sources;
  Validation all{kind.name, kind.unit, {}, {}, {}, {}};
  for (const std::string& file : request.files) {
    if (std::count(request.files.begin(), request.files.end(), file) > 1)
      return Error{"conflict", file + " is given twice", "FILE", "each file once", ""};
    const Result<CsvTable> table = read_table(request, file);
    if (!table) return table.error();
    for (std::size_t i = 0; i < table->size(); ++i) sources.push_back(table->at(i, kind.source));
    append(
        request.calibrate ? validate_collectives_calibrated(*table, catalog) : kind.validate(*table, catalog),
        request.leave_out, all);
  }
  if (const auto error = unknown_source(request.leave_out, sources)) return *error;
  if (!all.rows.empty()) return all;
  return Error{"no_rows",
               "no row could be evaluated; " + std::to_string(all.skipped.size()) + " skipped" +
                   (all.skipped.empty() ? "" : ", the first because " + all.skipped.front().reason),
               request.files.front(), std::string("rows with a measured ") + kind.measured, ""};
}

std::optional<Error> take_left_out_file(const std::string& file, Validation& rows) {
  const Result<std::string> text = read_text_file(file, kCorpusBytesMax);
  if (!text) return text.error();
  const Result<CsvTable> table = read_csv(*text, file);
  if (!table) return table.error();
  if (auto error = missing_column(*table, file, {"id", "left_out_s"}, "id and left_out_s")) return error;
  take_left_out(*table, rows);
  return std::nullopt;
}

}  // namespace shardplan
