#include "report/validation_report.h"

#include <algorithm>
#include <array>
#include <map>

#include "report/table.h"
#include "units/format.h"
#include "validate/collective_validation.h"

namespace shardplan {
namespace {

const std::string& unit_of(const ValidatedRow& row, const Validation& v) {
  return row.unit.empty() ? v.unit : row.unit;
}

std::string value_of_row(double value, const std::string& unit) {
  if (unit == "tokens") return format_count(value);
  return unit == "bytes" ? format(bytes(value)) : format(seconds(value));
}

std::string signed_percent(double share) { return (share >= 0 ? "+" : "") + format_percent(share); }

void stats_row(Table& table, const std::string& name, const ErrorStats& s) {
  table.row({name, format_count(static_cast<double>(s.count)), format_percent(s.median_ape),
             format_percent(s.p90_ape), format_percent(s.mape), signed_percent(s.bias)});
}

std::string groups_text(const std::string& title, const std::vector<ErrorGroup>& groups) {
  Table table;
  table.row({title, "rows", "median", "p90", "mean", "bias"});
  for (const ErrorGroup& group : groups) stats_row(table, group.name, error_stats(group.rows));
  return table.text() + "\n";
}

std::string worst_text(const Validation& v, std::optional<double> over) {
  constexpr std::size_t kMost = 10;
  std::vector<ValidatedRow> rows = v.rows;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ValidatedRow& a, const ValidatedRow& b) { return a.ape() > b.ape(); });
  const auto near = std::find_if(rows.begin(), rows.end(),
                                 [&](const ValidatedRow& row) { return row.ape() <= over.value_or(0); });
  const auto off = static_cast<std::size_t>(near - rows.begin());
  rows.resize(over ? off : std::min(rows.size(), kMost));
  Table table;
  table.row({over ? "off by more than " + format_percent(*over) : "furthest off", "measured", "predicted",
             "error"});
  for (const ValidatedRow& r : rows) {
    table.row({r.id, value_of_row(r.measured, unit_of(r, v)), value_of_row(r.predicted, unit_of(r, v)),
               signed_percent(r.predicted / r.measured - 1)});
  }
  return rows.empty() ? "" : table.text() + "\n";
}

std::string skipped_text(const Validation& v) {
  std::map<std::string, std::size_t> reasons;
  for (const SkippedRow& s : v.skipped) ++reasons[s.source + ": " + s.reason];
  if (reasons.empty()) return "";
  Table table("rl");
  table.row({"rows", "skipped, and why"});
  for (const auto& [reason, count] : reasons) {
    table.row({format_count(static_cast<double>(count)), reason});
  }
  return table.text();
}

/// Rows that ran and were not said to fit, rows that did not and what was said.
std::string judged_text(const Validation& v) {
  if (v.judged.empty()) return "";
  Table table;
  table.row({"verdicts", "rows", "fits", "tight", "no"});
  const auto add = [&](const char* label, auto&& counted) {
    std::array<double, 3> counts{};
    for (const JudgedRow& row : v.judged) {
      if (counted(row)) ++counts[static_cast<std::size_t>(row.verdict)];
    }
    table.row({label, format_count(counts[0] + counts[1] + counts[2]), format_count(counts[0]),
               format_count(counts[1]), format_count(counts[2])});
  };
  add("ran, quality A", [](const JudgedRow& row) { return row.ran() && row.quality == "A"; });
  add("ran, others", [](const JudgedRow& row) { return row.ran() && row.quality != "A"; });
  add("out of memory", [](const JudgedRow& row) { return !row.ran(); });
  Table odd;
  odd.row({"said no of a run that ran, or fits of one that did not", "predicted", "usable"});
  bool any = false;
  for (const JudgedRow& row : v.judged) {
    if (row.verdict != (row.ran() ? Verdict::kNo : Verdict::kFits)) continue;
    any = true;
    odd.row({row.id, format(bytes(row.predicted)), format(bytes(row.usable))});
  }
  return table.text() + "\n" + (any ? odd.text() + "\n" : "");
}

Json judged_json(const Validation& v) {
  Json list = Json::array();
  for (const JudgedRow& row : v.judged) {
    list.push_back({{"id", row.id},
                    {"quality", row.quality},
                    {"status", row.status},
                    {"verdict", name(row.verdict)},
                    {"predicted_bytes", row.predicted},
                    {"usable_bytes", row.usable}});
  }
  return list;
}

Json stats_json(const ErrorStats& s) {
  return {{"evaluated", s.count},
          {"median_ape", s.median_ape},
          {"mape", s.mape},
          {"p90_ape", s.p90_ape},
          {"bias", s.bias}};
}

Json groups_json(const std::vector<ErrorGroup>& groups) {
  Json json = Json::object();
  for (const ErrorGroup& group : groups) json[group.name] = stats_json(error_stats(group.rows));
  return json;
}

std::string choosing_text(const std::vector<ValidatedRow>& rows) {
  const Choosing c = choosing(rows);
  if (c.groups == 0) return "";
  return "choosing: over " + std::to_string(c.groups) +
         " groups of four or more measured layouts, the one ranked first took " +
         format_percent(c.mean_loss) + " more than the best in the mean, " + format_percent(c.largest_loss) +
         " at most\n\n";
}

Json choosing_json(const std::vector<ValidatedRow>& rows) {
  const Choosing c = choosing(rows);
  if (c.groups == 0) return nullptr;
  return {{"groups", c.groups}, {"mean_loss", c.mean_loss}, {"largest_loss", c.largest_loss}};
}

/// One vote a series, however many sizes it has.
std::string collectives_text(const Validation& v, std::optional<double> over) {
  const std::vector<ErrorGroup> series = by_source(v);
  const std::string text = v.kind + ": median of the series' median errors " +
                           format_percent(series_median(v)) + " over " +
                           format_count(static_cast<double>(series.size())) + " series of " +
                           format_count(static_cast<double>(v.rows.size())) + " points; " +
                           format_count(static_cast<double>(v.skipped.size())) + " skipped\n\n";
  return text + groups_text("by series", series) + groups_text("by launcher", by_framework(v)) +
         groups_text("by GPU", by_gpu(v)) + groups_text("by collective and network", by_feature(v)) +
         worst_text(v, over) + skipped_text(v);
}

}  // namespace

std::string validation_text(const Validation& v, std::optional<double> over) {
  if (v.kind == kCollectiveKind) return collectives_text(v, over);
  const ErrorStats all = error_stats(v.rows);
  std::string text = v.kind + ": median error " + format_percent(all.median_ape) + ", 90th percentile " +
                     format_percent(all.p90_ape) + ", bias " + signed_percent(all.bias) + " over " +
                     format_count(static_cast<double>(all.count)) + " rows; " +
                     format_count(static_cast<double>(v.skipped.size())) + " skipped\n\n";
  text += choosing_text(v.rows);
  text += groups_text("by source", by_source(v)) + groups_text("by framework", by_framework(v)) +
          groups_text("by GPU", by_gpu(v)) + groups_text("by feature", by_feature(v));
  if (v.kind == kMemoryBand) text += groups_text("by counter", by_counter(v));
  return text + worst_text(v, over) + judged_text(v) + skipped_text(v);
}

Json validation_json(const Validation& v) {
  Json json{{"kind", v.kind}, {"rows", v.rows.size() + v.skipped.size()}};
  json.update(stats_json(error_stats(v.rows)));
  json["skipped"] = Json::array();
  for (const SkippedRow& s : v.skipped) json["skipped"].push_back({{"id", s.id}, {"reason", s.reason}});
  if (v.kind == kTimeBand) json["choosing"] = choosing_json(v.rows);
  json["by_source"] = groups_json(by_source(v));
  json["by_gpu"] = groups_json(by_gpu(v));
  json["by_framework"] = groups_json(by_framework(v));
  json["by_feature"] = groups_json(by_feature(v));
  if (v.kind == kMemoryBand) {
    json["by_counter"] = groups_json(by_counter(v));
    json["verdicts"] = judged_json(v);
  }
  json["rows_detail"] = Json::array();
  for (const ValidatedRow& r : v.rows) {
    json["rows_detail"].push_back({{"id", r.id},
                                   {"measured", r.measured},
                                   {"predicted", r.predicted},
                                   {"ape", r.ape()},
                                   {"unit", unit_of(r, v)},
                                   {"features", r.features},
                                   {"assumed", r.assumed}});
  }
  return json;
}

}  // namespace shardplan
