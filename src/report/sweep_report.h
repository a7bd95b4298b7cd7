// The rows of a sweep as lines of a file, JSON or CSV, and what the sweep came to.
//
//   const SweepLines lines{RowFormat::kCsv, digest, grid.keys};
//   lines.header();                // "item,sweep,feasible,in_time,preset,gpus,plan.canonical,...\n"; of
//   JSON: "" lines.row(3, item, row);       // "3,5ac2f0...,true,,llama3-8b,16,dp16·z1·mb4,...\n"
//   lines.fate(3, line);           // what a line that is already there says: RowFate::kFits
//
// Every line stands alone: it has the item's number, the sweep's digest and what was asked. A column of CSV
// is a key of JSON, those of an object joined by dots. Not here: where the lines go (cli/sweep_output.h).
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reason/sweep_row.h"
#include "report/json_values.h"

namespace shardplan {

enum class RowFormat { kJsonLines, kCsv };

/// What became of an item. Late: it has a plan, which misses the deadline.
enum class RowFate { kFits, kLate, kNothingFits, kError };
RowFate fate_of(const SweepRow& row);

/// `item` has a value, or null, for each flag of the grid.
Json sweep_row_json(std::int64_t index, const std::string& digest, const Json& item, const SweepRow& row);

struct SweepLines {
  RowFormat format = RowFormat::kJsonLines;
  std::string digest;
  std::vector<std::string> keys;  // the grid's flags

  /// The line before the rows; empty where there is none.
  std::string header() const;
  std::string row(std::int64_t index, const Json& item, const SweepRow& row) const;
  /// What that item's row starts with, whatever it says.
  std::string row_start(std::int64_t index) const;
  /// Its columns of the grid's flags, each with the comma before it.
  std::string flags(const Json& item) const;
  /// Whether a row has all of its columns, or is JSON; what they hold is not looked at.
  bool whole(std::string_view line) const;
  /// Whether that item's row has the item's flags.
  bool asks(std::int64_t index, const Json& item, std::string_view line) const;
  /// Of a line without its end; nothing where it is not that item's row.
  std::optional<RowFate> fate(std::int64_t index, std::string_view line) const;
  /// Whether that item's row may have been cut short to this, or the header where `index` is -1.
  bool cut_short(std::int64_t index, std::string_view line) const;
};

/// What the items came to.
struct SweepSummary {
  std::int64_t items = 0;  // of the grid
  std::int64_t kept = 0;   // rows that were there before
  std::int64_t feasible = 0, infeasible = 0, errors = 0;
  std::int64_t late = 0;  // of the feasible
  std::string out;        // a file; empty: standard output
  struct ItemError {
    std::int64_t item;
    Error error;
  };
  std::optional<ItemError> first_error;  // of the rows that were not there before
  std::int64_t done() const { return feasible + infeasible + errors; }
  bool yes() const { return feasible == items && late == 0; }
  void count(RowFate fate);
};

/// How much of a file is this sweep's rows, whole and in order: its first `bytes`. Counts them in `summary`.
/// Behind them there may be one row cut short, which is to be written again; anything else is an error. What
/// a row answers is taken as it is; what it asks must be what `item`, by its number, asks.
Result<std::int64_t> kept_bytes(std::istream& file, const SweepLines& lines,
                                const std::function<Json(std::int64_t)>& item, SweepSummary& summary);

std::string sweep_text(const SweepSummary& summary);
Json sweep_json(const SweepSummary& summary);

}  // namespace shardplan
