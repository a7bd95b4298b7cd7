#include "report/sweep_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "import/csv_table.h"
#include "import/sweep_grid.h"

namespace shardplan {
namespace {

constexpr const char* kDigest = "0123456789abcdef";

/// A plan, none that fits, an error with a comma, quotes and a line's end in it.
struct ThreeRows {
  std::vector<Json> items{
      Json::parse(R"({"preset": "llama3-8b", "gpus": 8, "tp": 2, "global-batch": 64})"),
      Json::parse(R"({"preset": "llama3-70b", "gpus": 1, "tp": null, "global-batch": 64})"),
      Json::parse(R"({"preset": "a \"b\",\nc", "gpus": 8, "tp": 2, "global-batch": 64})")};
  std::vector<SweepRow> rows;
  SweepLines lines;
  std::string file;

  explicit ThreeRows(RowFormat format)
      : lines{format, kDigest, {"preset", "gpus", "tp", "global-batch"}}, file(lines.header()) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      rows.push_back(sweep_row(item_question(items[i], catalog()), catalog().evidence));
      file += lines.row(static_cast<std::int64_t>(i), items[i], rows.back());
    }
  }
};

/// What `lines` keep of a file whose rows are of `items`.
Result<std::int64_t> kept(const std::string& text, const SweepLines& lines, const std::vector<Json>& items,
                          SweepSummary& summary) {
  std::istringstream file(text);
  return kept_bytes(
      file, lines, [&](std::int64_t index) { return items[static_cast<std::size_t>(index)]; }, summary);
}

SweepSummary of_three() {
  SweepSummary summary;
  summary.items = 3;
  summary.out = "rows";
  return summary;
}

std::set<std::string> leaves(const Json& json, const std::string& path) {
  if (!json.is_object()) return {path};
  std::set<std::string> all;
  for (const auto& [key, value] : json.items()) {
    for (const std::string& leaf : leaves(value, path.empty() ? key : path + "." + key)) all.insert(leaf);
  }
  return all;
}

TEST(SweepReport, RowsOfJsonHaveTheSameKeysWhateverTheySay) {
  const ThreeRows three(RowFormat::kJsonLines);
  std::istringstream lines(three.file);
  std::vector<Json> rows;
  for (std::string line; std::getline(lines, line);) rows.push_back(Json::parse(line));
  ASSERT_EQ(rows.size(), 3U);
  for (const Json& row : rows) {
    std::vector<std::string> keys, first;
    for (const auto& [key, value] : row.items()) keys.push_back(key);
    for (const auto& [key, value] : rows[0].items()) first.push_back(key);
    EXPECT_EQ(keys, first);
  }
  EXPECT_EQ(rows[0]["feasible"], true);
  EXPECT_EQ(rows[0]["gpus"], 8);
  EXPECT_EQ(rows[0]["plan"]["tp"], 2);
  EXPECT_GT(rows[0]["step_time_s"].get<double>(), 0);
  EXPECT_EQ(rows[1]["feasible"], false);
  EXPECT_TRUE(rows[1]["plan"].is_null());
  EXPECT_EQ(rows[1]["verdict"], "no");
  EXPECT_EQ(rows[1]["binding_constraint"]["kind"], "state");
  EXPECT_GT(rows[1]["nearest_miss"]["shortfall_bytes"].get<double>(), 0);
  EXPECT_TRUE(rows[0]["in_time"].is_null());
  EXPECT_EQ(rows[1]["run"]["gpus"], 1);
  EXPECT_TRUE(rows[1]["run"]["value"].is_null());
  EXPECT_TRUE(rows[2]["run"].is_null());
  EXPECT_TRUE(rows[2]["feasible"].is_null());
  EXPECT_EQ(rows[2]["error"]["where"], "--preset");
  EXPECT_EQ(rows[2]["preset"], "a \"b\",\nc");
}

TEST(SweepReport, CsvHasAColumnForAllThatJsonSays) {
  const ThreeRows three(RowFormat::kCsv);
  EXPECT_EQ(std::count(three.file.begin(), three.file.end(), '\n'), 4) << "a row is a line";
  const Result<CsvTable> table = read_csv(three.file, "rows.csv");
  ASSERT_TRUE(table) << table.error().message;
  ASSERT_EQ(table->size(), 3U);
  for (std::size_t i = 0; i < three.rows.size(); ++i) {
    const Json row = sweep_row_json(static_cast<std::int64_t>(i), kDigest, three.items[i], three.rows[i]);
    for (const std::string& leaf : leaves(row, "")) {
      const bool of_miss = leaf.starts_with("nearest_miss.plan.") && !leaf.ends_with("canonical");
      const bool whole = row.contains(leaf) && row[leaf].is_null();  // an object that is not there
      EXPECT_TRUE(of_miss || whole || table->has(leaf)) << leaf;
    }
  }
  EXPECT_EQ(table->at(0, "feasible"), "true");
  EXPECT_EQ(table->at(0, "plan.tp"), "2");
  EXPECT_EQ(table->at(0, "step_time_s"), Json(three.rows[0].run.best->step.raw()).dump());
  EXPECT_NE(table->at(0, "assumed").find("; "), std::string::npos);
  EXPECT_EQ(table->at(1, "feasible"), "false");
  EXPECT_EQ(table->at(1, "tp"), "");
  EXPECT_EQ(table->at(1, "nearest_miss.constraint"), "state");
  EXPECT_EQ(table->at(2, "feasible"), "");
  EXPECT_EQ(table->at(2, "preset"), "a \"b\",\\nc");
  EXPECT_EQ(table->at(2, "error.code"), "unknown_name");
}

TEST(SweepReport, WhatWasCutShortAnywhereIsKeptUpToItsLastWholeRow) {
  for (const RowFormat format : {RowFormat::kJsonLines, RowFormat::kCsv}) {
    const ThreeRows three(format);
    for (std::size_t length = 0; length <= three.file.size(); ++length) {
      const std::string cut = three.file.substr(0, length);
      const std::size_t end = cut.rfind('\n');
      SweepSummary summary = of_three();
      const Result<std::int64_t> bytes = kept(cut, three.lines, three.items, summary);
      ASSERT_TRUE(bytes) << length << ": " << bytes.error().message;
      EXPECT_EQ(*bytes, static_cast<std::int64_t>(end == std::string::npos ? 0 : end + 1)) << length;
      const auto whole = std::count(cut.begin(), cut.end(), '\n');
      EXPECT_EQ(summary.kept, std::max<std::int64_t>(0, whole - (format == RowFormat::kCsv ? 1 : 0)))
          << length;
      EXPECT_EQ(summary.done(), summary.kept);
    }
    SweepSummary summary = of_three();
    ASSERT_TRUE(kept(three.file, three.lines, three.items, summary));
    EXPECT_EQ(summary.feasible, 1);
    EXPECT_EQ(summary.infeasible, 1);
    EXPECT_EQ(summary.errors, 1);
  }
}

TEST(SweepReport, WhatIsOfAnotherSweepIsRefused) {
  for (const RowFormat format : {RowFormat::kJsonLines, RowFormat::kCsv}) {
    const ThreeRows three(format);
    const auto refused = [&](const std::string& text) {
      SweepSummary summary = of_three();
      const Result<std::int64_t> bytes = kept(text, three.lines, three.items, summary);
      EXPECT_FALSE(bytes) << text;
      return bytes ? "" : bytes.error().code;
    };
    std::string other = three.file;
    other.replace(other.find(kDigest), 1, "f");
    std::string skipped = three.file;
    const std::size_t second = skipped.find('\n', three.lines.header().size()) + 1;
    skipped.erase(second, skipped.find('\n', second) + 1 - second);
    std::string damaged = three.file;
    damaged.erase(damaged.find('\n', three.lines.header().size()) - 20, 20);
    for (const std::string& text :
         {other, skipped, damaged, three.file + three.file, std::string("notes"), std::string("notes\n"),
          std::string("\n"), three.file + "notes", three.file + "\n"})
      EXPECT_EQ(refused(text), "other_sweep");
  }
}

TEST(SweepReport, RowsThatAskSomethingElseAreRefusedByTheirNumber) {
  for (const RowFormat format : {RowFormat::kJsonLines, RowFormat::kCsv}) {
    const ThreeRows three(format);
    for (const auto& [before, after] : {std::pair<std::string, std::string>{"llama3-70b", "llama3-8b"},
                                        {format == RowFormat::kCsv ? "70b,1," : "\"gpus\":1,",
                                         format == RowFormat::kCsv ? "70b,7," : "\"gpus\":7,"}}) {
      std::string other = three.file;
      other.replace(other.find(before), before.size(), after);
      SweepSummary summary = of_three();
      const Result<std::int64_t> bytes = kept(other, three.lines, three.items, summary);
      ASSERT_FALSE(bytes) << before;
      EXPECT_EQ(bytes.error().message, "\"rows\": row 1 of this sweep does not tell the flags of its item");
    }
  }
}

TEST(SweepReport, SaysWhichPrecisionWasChosen) {
  const Json item = Json::parse(R"({"preset": "llama3-8b", "gpu": "h100-sxm", "gpus": 8, "global-batch": 64,
                                    "precision": "bf16,fp8", "forbid": "cp,recompute"})");
  const SweepRow row = sweep_row(item_question(item, catalog()), catalog().evidence);
  const Json json = sweep_row_json(0, kDigest, item, row);
  EXPECT_EQ(json["precision"], "bf16,fp8") << "what was asked";
  EXPECT_EQ(json["run"]["precision"], "fp8") << "what was chosen";
}

/// Of each size the plan, of several sizes the one that was chosen; in time, late, no deadline.
TEST(SweepReport, SaysWhatTheRunTakesAndWhetherItIsInTime) {
  for (const RowFormat format : {RowFormat::kJsonLines, RowFormat::kCsv}) {
    const SweepLines lines{format, kDigest, {"gpus", "deadline"}};
    std::string file = lines.header();
    std::vector<SweepRow> rows;
    std::vector<Json> items;
    for (const char* deadline : {R"("300d")", R"("9d")", "null"}) {
      const Json item = Json::parse(R"({"gpus": "8:16:8", "deadline": )" + std::string(deadline) + "}");
      Json all = Json::parse(
          R"({"preset": "llama3-8b", "global-batch": 64, "tokens": "1T", "price": 2, "watts": 1000})");
      all.update(item);
      rows.push_back(sweep_row(item_question(all, catalog()), catalog().evidence));
      file += lines.row(static_cast<std::int64_t>(rows.size()) - 1, item, rows.back());
      items.push_back(item);
    }
    EXPECT_EQ(fate_of(rows[0]), RowFate::kFits);
    EXPECT_EQ(fate_of(rows[1]), RowFate::kLate);
    EXPECT_EQ(fate_of(rows[2]), RowFate::kFits);
    SweepSummary summary = of_three();
    ASSERT_TRUE(kept(file, lines, items, summary));
    EXPECT_EQ(summary.feasible, 3);
    EXPECT_EQ(summary.late, 1);
    EXPECT_FALSE(summary.yes());
    EXPECT_TRUE(sweep_text(summary).starts_with(
        "not every item is done in time: 2 of 3 are, 1 misses its deadline\n"));
    EXPECT_EQ(sweep_json(summary)["late"], 1);
    if (format == RowFormat::kCsv) {
      const Result<CsvTable> table = read_csv(file, "rows.csv");
      ASSERT_TRUE(table) << table.error().message;
      EXPECT_EQ(table->at(0, "in_time"), "true");
      EXPECT_EQ(table->at(1, "in_time"), "false");
      EXPECT_EQ(table->at(2, "in_time"), "");
      EXPECT_EQ(table->at(0, "gpus"), "8:16:8") << "what was asked";
      EXPECT_EQ(table->at(0, "run.gpus"), "16") << "what was chosen";
      EXPECT_EQ(table->at(0, "run.objective"), "step-time");
      EXPECT_EQ(table->at(0, "run.unit"), "s");
      EXPECT_EQ(table->at(0, "run.value"), table->at(0, "step_time_s"));
      continue;
    }
    const Json row = Json::parse(file.substr(0, file.find('\n')));
    const RunTotals& totals = *rows[0].run.totals;
    EXPECT_EQ(row["run"]["time_s"], totals.time->raw());
    EXPECT_EQ(row["run"]["cost_usd"], totals.cost->raw());
    EXPECT_DOUBLE_EQ(row["run"]["energy_j"].get<double>(), 16 * 1000 * totals.time->raw());
  }
}

TEST(SweepReport, SummaryCountsAndNamesTheFirstError) {
  SweepSummary summary = of_three();
  for (const RowFate fate : {RowFate::kFits, RowFate::kNothingFits, RowFate::kError}) summary.count(fate);
  summary.kept = 1;
  summary.first_error = {2, {"unknown_name", "no model named \"x\"", "--preset", "a name", "y"}};
  EXPECT_EQ(sweep_text(summary),
            "not every item has a plan: 1 of 3 have one, nothing fits for 1, 1 in error\n"
            "rows   rows: 1 were there, 2 are new\n"
            "error  item 2: --preset: no model named \"x\"; expected a name; did you mean y?\n");
  const Json json = sweep_json(summary);
  EXPECT_EQ(json["complete"], true);
  EXPECT_EQ(json["infeasible"], 1);
  EXPECT_EQ(json["first_error"]["error"]["nearest"], "y");
  SweepSummary all = of_three();
  all.feasible = 3;
  EXPECT_TRUE(sweep_text(all).starts_with("every item has a plan: 3 of 3\n"));
  SweepSummary part = of_three();
  part.feasible = 2;
  EXPECT_TRUE(sweep_text(part).starts_with("stopped: 2 of 3 items are done; 2 have a plan\n"));
  EXPECT_EQ(sweep_json(part)["complete"], false);
}

}  // namespace
}  // namespace shardplan
