#include "validate/serving_kv_validation.h"

#include <optional>

#include "estimate/serve_memory.h"
#include "units/format.h"
#include "validate/serving_row.h"

namespace shardplan {
namespace {

/// Nothing where the cell is empty.
std::optional<Bytes<>> gib(const CsvRow& row, const char* column) {
  const auto value = parse_number(row[column]);
  return value ? std::optional(gibibytes(*value)) : std::nullopt;
}

/// Room for the cache from what was printed of its parts; nothing where one of them is missing.
std::optional<Bytes<>> derived_pool(const CsvRow& row, const StartUp& start) {
  if (start.engine->rule != PoolRule::kOfTotal) return std::nullopt;
  const auto memory = gib(row, "total_gib"), weights = gib(row, "weights_gib");
  const auto peak = gib(row, "activation_gib"), outside = gib(row, "non_torch_gib");
  const auto share = parse_number(row["gpu_memory_utilization"]);
  if (!memory || !weights || !peak || !outside || !share) return std::nullopt;
  return cache_pool(*memory, ratio(*share), *weights, *peak, *outside);
}

class Rows {
 public:
  Rows(const CsvRow& row, const StartUp& start, Validation& all) : row_(row), start_(start), all_(all) {}

  void add(const char* counter, double measured, double predicted, const char* unit) {
    ValidatedRow out;
    out.id = start_.id + (std::string(counter) == "derived" ? ", derived" : "");
    out.source = row_["source"];
    out.framework = start_.engine->name;
    out.gpu = row_["gpu"];
    out.features = {counter, start_.model.name};
    out.measured = measured;
    out.predicted = predicted;
    out.assumed = start_.assumed;
    out.citation = row_["source"];
    out.unit = unit;
    all_.rows.push_back(out);
  }
  void skip(const std::string& reason) { all_.skipped.push_back({start_.id, row_["source"], reason}); }

 private:
  const CsvRow& row_;
  const StartUp& start_;
  Validation& all_;
};

void add_tokens(const CsvRow& row, const StartUp& start, double measured, Rows& rows) {
  const ServeShape shape(start.model, start.split, start.format);
  if (shape.state_bytes > 0) return rows.skip("a cache shared with recurrent states is not modelled");
  const Bytes<> token = serve_memory<double>(shape, 1).token;
  const auto stated = gib(row, "kv_gib");
  const auto derived = derived_pool(row, start);
  if (!stated && !derived)
    return rows.skip("neither the room for the cache nor all of its parts are printed");
  if (!(measured > 0)) return rows.skip("the engine had no room for a token");
  if (stated) rows.add("stated", measured, pool_tokens(*start.engine, *stated, token).raw(), "tokens");
  if (derived) rows.add("derived", measured, pool_tokens(*start.engine, *derived, token).raw(), "tokens");
}

}  // namespace

Validation validate_serving_kv(const CsvTable& table, const Catalog& catalog) {
  Validation all{kServingKvKind, "tokens", {}, {}, {}, {}};
  for (std::size_t i = 0; i < table.size(); ++i) {
    const CsvRow row{table, i};
    const bool tokens = row["metric"] == "startup_kv_tokens";
    if (!tokens && row["metric"] != "startup_weights_GiB_per_gpu") continue;
    const Result<StartUp> start = read_start_up(row, catalog);
    const auto measured = parse_number(row["value"]);
    if (!start || !measured) {
      all.skipped.push_back(
          {serving_row_id(row), row["source"], start ? "no measured value" : start.error().message});
      continue;
    }
    Rows rows(row, *start, all);
    if (tokens) {
      add_tokens(row, *start, *measured, rows);
    } else if (start->format_told) {
      const ServeShape shape(start->model, start->split, start->format);
      rows.add("weights", gibibytes(*measured).raw(), serve_memory<double>(shape, 1).total_weights().raw(),
               "bytes");
    } else {
      rows.skip("the checkpoint's format is not printed");
    }
  }
  return all;
}

}  // namespace shardplan
