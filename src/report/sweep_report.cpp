#include "report/sweep_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/error_report.h"
#include "units/format.h"

namespace shardplan {
namespace {

// What every row has after the grid's own values.
constexpr std::array kColumns{
    "plan.canonical",
    "plan.dp",
    "plan.tp",
    "plan.pp",
    "plan.cp",
    "plan.ep",
    "plan.etp",
    "plan.zero_stage",
    "plan.shard_group",
    "plan.micro_batch",
    "plan.grad_accumulation",
    "plan.interleave",
    "plan.first_layers",
    "plan.last_layers",
    "plan.schedule",
    "plan.recompute",
    "plan.sequence_parallel",
    "plan.offload",
    "plan.rank_order",
    "step_time_s",
    "error_band.low_s",
    "error_band.high_s",
    "tokens_per_s_per_gpu",
    "mfu",
    "hfu",
    "verdict",
    "memory.total_bytes",
    "memory.hbm_bytes",
    "memory.usable_bytes",
    "memory.headroom_bytes",
    "run.gpus",
    "run.precision",
    "run.objective",
    "run.value",
    "run.unit",
    "run.time_s",
    "run.cost_usd",
    "run.cost_of_token_usd",
    "run.energy_j",
    "run.energy_of_token_j",
    "binding_constraint.kind",
    "binding_constraint.statement",
    "binding_constraint.value",
    "binding_constraint.limit",
    "binding_constraint.unit",
    "nearest_miss.plan.canonical",
    "nearest_miss.constraint",
    "nearest_miss.stage",
    "nearest_miss.required_bytes",
    "nearest_miss.shortfall_bytes",
    "error.code",
    "error.message",
    "error.where",
    "error.expected",
    "error.nearest",
    "assumed",
    "notes",
};

// "feasible" and "in_time", as JSON and as CSV have them.
struct FateWords {
  RowFate fate;
  const char *json, *csv;
};
constexpr std::array<FateWords, 5> kFates{{{RowFate::kFits, R"(true,"in_time":null)", "true,"},
                                           {RowFate::kFits, R"(true,"in_time":true)", "true,true"},
                                           {RowFate::kLate, R"(true,"in_time":false)", "true,false"},
                                           {RowFate::kNothingFits, R"(false,"in_time":null)", "false,"},
                                           {RowFate::kError, R"(null,"in_time":null)", ","}}};

std::string one_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// RFC 4180; a row is one line, whatever its texts hold.
std::string cell(const Json& value) {
  std::string text;
  if (value.is_array()) {
    for (const Json& one : value) text += (text.empty() ? "" : "; ") + printable(one.get<std::string>());
  } else if (value.is_string()) {
    text = printable(value.get<std::string>());
  } else if (!value.is_null()) {
    return value.dump();
  }
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

/// The value that a column names, or null.
Json at(const Json& row, std::string_view column) {
  const Json* value = &row;
  while (!column.empty()) {
    const std::size_t dot = std::min(column.find('.'), column.size());
    const auto found = value->find(std::string(column.substr(0, dot)));
    if (found == value->end()) return nullptr;
    value = &*found;
    column.remove_prefix(std::min(dot + 1, column.size()));
  }
  return *value;
}

template <class Q>
Json optional_json(const std::optional<Q>& v) {
  return v ? Json(v->raw()) : Json(nullptr);
}
Json optional_json(const std::optional<double>& v) { return v ? Json(*v) : Json(nullptr); }

/// The same keys, as far as they go, as `plan --json` has under "objective" and "run".
Json run_json(const SweepRow& row) {
  const RunTotals totals = row.run.totals.value_or(RunTotals{});
  Json json{{"gpus", row.gpus},
            {"precision", row.precision},
            {"objective", name(row.run.objective.kind)},
            {"value", nullptr},
            {"unit", nullptr},
            {"time_s", optional_json(totals.time)},
            {"cost_usd", optional_json(totals.cost)},
            {"cost_of_token_usd", optional_json(totals.cost_of_token)},
            {"energy_j", optional_json(totals.joules)},
            {"energy_of_token_j", optional_json(totals.joules_of_token)}};
  if (!row.run.best) return json;
  const ObjectiveValue v = objective_value(row.run.objective, *row.run.best);
  json["value"] = v.value;
  json["unit"] = v.unit;
  return json;
}

/// Null where there is no deadline, or no plan that could keep it.
Json in_time_json(const SweepRow& row) {
  return row.run.totals && row.run.objective.deadline ? Json(row.run.totals->in_time) : Json(nullptr);
}

void add_best(const SweepRow& row, Json& json) {
  const Estimate& best = *row.run.best;
  json["plan"] = plan_json(best.plan);
  json["step_time_s"] = best.step.raw();
  if (row.step_range)
    json["error_band"] = {{"low_s", row.step_range->low.raw()}, {"high_s", row.step_range->high.raw()}};
  json["tokens_per_s_per_gpu"] = best.tokens_per_gpu.raw();
  json["mfu"] = best.mfu.raw();
  json["hfu"] = best.hfu.raw();
  json["verdict"] = name(row.verdict);
  json["memory"] = {{"total_bytes", best.memory.total().raw()},
                    {"hbm_bytes", best.hbm.raw()},
                    {"usable_bytes", best.usable.raw()},
                    {"headroom_bytes", best.headroom().raw()}};
}

}  // namespace

RowFate fate_of(const SweepRow& row) {
  if (row.error) return RowFate::kError;
  if (!row.run.best) return RowFate::kNothingFits;
  return row.run.yes() ? RowFate::kFits : RowFate::kLate;
}

Json sweep_row_json(std::int64_t index, const std::string& digest, const Json& item, const SweepRow& row) {
  Json json{{"item", index}, {"sweep", digest}, {"feasible", nullptr}, {"in_time", in_time_json(row)}};
  if (!row.error) json["feasible"] = row.run.best.has_value();
  json.update(item);
  for (const char* key :
       {"plan", "step_time_s", "error_band", "tokens_per_s_per_gpu", "mfu", "hfu", "verdict", "memory"})
    json[key] = nullptr;
  if (row.run.best) add_best(row, json);
  if (!row.error && !row.run.best) json["verdict"] = name(Verdict::kNo);
  json["run"] = row.error ? Json(nullptr) : run_json(row);
  json["binding_constraint"] = row.error ? Json(nullptr) : binding_json(row.binding);
  if (!row.error) json["binding_constraint"].erase("figures");  // a row has one value in each column
  json["nearest_miss"] = nearest_miss_json(row.nearest_miss);
  json["error"] = row.error ? error_json(*row.error) : Json(nullptr);
  json["assumed"] = row.assumed;
  json["notes"] = row.notes;
  return json;
}

std::string SweepLines::header() const {
  if (format == RowFormat::kJsonLines) return "";
  std::string line = "item,sweep,feasible,in_time";
  for (const std::string& key : keys) line += "," + key;
  for (const char* column : kColumns) line += std::string(",") + column;
  return line + "\n";
}

std::string SweepLines::row_start(std::int64_t index) const {
  if (format == RowFormat::kCsv) return fmt::format("{},{},", index, digest);
  return fmt::format("{{\"item\":{},\"sweep\":\"{}\",\"feasible\":", index, digest);
}

std::string SweepLines::flags(const Json& item) const {
  if (format == RowFormat::kJsonLines) {
    const std::string object = one_line(item);
    return object.size() > 2 ? "," + object.substr(1, object.size() - 2) : "";  // without its braces
  }
  std::string cells;
  for (const std::string& key : keys) cells += "," + cell(at(item, key));
  return cells;
}

std::string SweepLines::row(std::int64_t index, const Json& item, const SweepRow& row) const {
  const Json json = sweep_row_json(index, digest, item, row);
  if (format == RowFormat::kJsonLines) return one_line(json) + "\n";
  std::string line = row_start(index) + cell(json["feasible"]) + "," + cell(json["in_time"]) + flags(item);
  for (const char* column : kColumns) line += "," + cell(at(json, column));
  return line + "\n";
}

std::optional<RowFate> SweepLines::fate(std::int64_t index, std::string_view line) const {
  const std::string start = row_start(index);
  if (!line.starts_with(start)) return std::nullopt;
  line.remove_prefix(start.size());
  for (const FateWords& words : kFates) {
    if (line.starts_with((format == RowFormat::kCsv ? words.csv : words.json) + std::string(","))) {
      return words.fate;
    }
  }
  return std::nullopt;
}

bool SweepLines::asks(std::int64_t index, const Json& item, std::string_view line) const {
  line.remove_prefix(row_start(index).size());
  const std::string own = flags(item) + ",";
  return std::any_of(kFates.begin(), kFates.end(), [&](const FateWords& words) {
    return line.starts_with((format == RowFormat::kCsv ? words.csv : words.json) + own);
  });
}

bool SweepLines::whole(std::string_view line) const {
  if (format == RowFormat::kJsonLines) return Json::accept(line);
  const auto commas = [](std::string_view text) {
    bool quoted = false;
    std::int64_t count = 0;
    for (const char c : text) {
      if (c == '"') quoted = !quoted;
      if (c == ',' && !quoted) ++count;
    }
    return quoted ? -1 : count;
  };
  return commas(line) == commas(header());
}

bool SweepLines::cut_short(std::int64_t index, std::string_view line) const {
  if (index < 0) return header().starts_with(line);
  const std::string start = row_start(index);
  return start.starts_with(line) || line.starts_with(start);
}

void SweepSummary::count(RowFate fate) {
  if (fate == RowFate::kLate) ++late;
  const bool has_plan = fate == RowFate::kFits || fate == RowFate::kLate;
  ++(has_plan ? feasible : fate == RowFate::kNothingFits ? infeasible : errors);
}

Result<std::int64_t> kept_bytes(std::istream& file, const SweepLines& lines,
                                const std::function<Json(std::int64_t)>& item, SweepSummary& summary) {
  std::int64_t bytes = 0, index = lines.header().empty() ? 0 : -1;
  const auto other = [&](const std::string& what) {
    return Error{"other_sweep", "\"" + summary.out + "\": " + what, "--out",
                 "rows of this grid by this program and its catalog, a name that is free, or --overwrite",
                 ""};
  };
  for (std::string line; std::getline(file, line); ++index) {
    const std::string row = index < 0 ? "the line that names the columns of this sweep"
                                      : "row " + std::to_string(index) + " of this sweep";
    if (index >= summary.items) return other("there is more than the rows of this sweep");
    if (file.eof()) {
      if (!lines.cut_short(index, line)) return other("what it ends in is not " + row);
      break;
    }
    if (index < 0) {
      if (line + "\n" != lines.header())
        return other("its first line does not name the columns of this sweep");
    } else {
      const auto fate = lines.fate(index, line);
      if (!fate) return other("there is no " + row + " where it should be");
      // A file of lines that end otherwise would not be the one that the sweep writes at once.
      if (!lines.whole(line) || line.back() == '\r') return other(row + " is damaged");
      if (!lines.asks(index, item(index), line)) return other(row + " does not tell the flags of its item");
      summary.count(*fate);
      ++summary.kept;
    }
    bytes += static_cast<std::int64_t>(line.size()) + 1;
  }
  return bytes;
}

std::string sweep_text(const SweepSummary& s) {
  const auto count = [](std::int64_t n) { return format_count(static_cast<double>(n)); };
  const bool stopped = s.done() < s.items;
  std::string text;
  if (s.yes()) {
    text = "every item has a plan: " + count(s.items) + " of " + count(s.items);
  } else if (stopped) {
    text = "stopped: " + count(s.done()) + " of " + count(s.items) + " items are done; " + count(s.feasible) +
           " have a plan";
  } else if (s.feasible == s.items) {
    text = "not every item is done in time: " + count(s.items - s.late) + " of " + count(s.items) + " are";
  } else {
    text = "not every item has a plan: " + count(s.feasible) + " of " + count(s.items) + " have one";
  }
  if (s.late > 0) text += ", " + count(s.late) + (s.late == 1 ? " misses its" : " miss their") + " deadline";
  if (s.infeasible > 0) text += ", nothing fits for " + count(s.infeasible);
  if (s.errors > 0) text += ", " + count(s.errors) + " in error";
  text += "\n";
  if (!s.out.empty()) {
    text += "rows   " + printable(s.out) + ": " + count(s.kept) + " were there, " + count(s.done() - s.kept) +
            " are new" + (stopped ? "; the same command goes on from there\n" : "\n");
  }
  if (s.first_error)
    text += "error  item " + count(s.first_error->item) + ": " + error_line(s.first_error->error) + "\n";
  return text;
}

Json sweep_json(const SweepSummary& s) {
  Json json{{"complete", s.done() == s.items},
            {"items", s.items},
            {"done", s.done()},
            {"kept", s.kept},
            {"feasible", s.feasible},
            {"late", s.late},
            {"infeasible", s.infeasible},
            {"errors", s.errors},
            {"out", s.out.empty() ? Json(nullptr) : Json(s.out)},
            {"first_error", nullptr}};
  if (s.first_error)
    json["first_error"] = {{"item", s.first_error->item}, {"error", error_json(s.first_error->error)}};
  return json;
}

}  // namespace shardplan
