#include "validate/bands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/evidence.h"
#include "import/json_text.h"

namespace shardplan {
namespace {

Validation rows(const char* kind, int count, const std::string& framework) {
  Validation v{kind, "s", {}, {}, {}, {}};
  for (int i = 0; i <= count - 1; ++i) {
    ValidatedRow row;
    row.id = "r" + std::to_string(i);
    row.citation = "page " + std::to_string(i);
    row.framework = framework;
    row.profile.device = i < count - 1 ? "h100-sxm" : "h200";
    row.profile.architecture = "Hopper";
    row.predicted = 3;
    row.measured = 3 + 0.3 * i;
    v.rows.push_back(row);
  }
  return v;
}

TEST(Bands, TenthsOfMeasuredOverPredicted) {
  const Evidence e = evidence_of(rows(kTimeBand, 11, "megatron"));
  std::vector<std::string> names;
  for (const ErrorBand& band : e.bands) names.push_back(band.of + " " + band.name);
  EXPECT_THAT(names, testing::ElementsAre("gpu h100-sxm", "architecture Hopper"))
      << "one row of h200 is too few";
  EXPECT_EQ(e.bands[1].rows, 11);
  EXPECT_EQ(e.bands[1].low_ratio, 1.1);
  EXPECT_EQ(e.bands[1].high_ratio, 1.9);
  ASSERT_EQ(e.runs.size(), 11U);
  EXPECT_EQ(e.runs[10].source, "page 10");
}

TEST(Bands, AreOfPredictionsThatHaveNotSeenTheRow) {
  Validation v = rows(kTimeBand, 11, "megatron");
  const auto table = read_csv("id,left_out_s\nr0,1.5\nr1,none\nunknown,9\n", "left_out.csv");
  ASSERT_TRUE(table);
  take_left_out(*table, v);
  EXPECT_EQ(v.rows[0].left_out, 1.5);
  EXPECT_FALSE(v.rows[1].left_out) << "not a number";
  EXPECT_FALSE(v.rows[2].left_out) << "not in the table";
  for (ValidatedRow& row : v.rows) row.left_out = row.predicted / 2;
  const Evidence e = evidence_of(v);
  EXPECT_EQ(e.bands[1].low_ratio, 2.2) << "twice what the rows' own predictions give";
  EXPECT_EQ(e.runs[0].predicted, seconds(3)) << "a run is shown beside its own prediction";
}

TEST(Bands, MemoryIsOfFrameworksAndGenericIsNone) {
  const Evidence e = evidence_of(rows(kMemoryBand, 11, "megatron"));
  ASSERT_EQ(e.bands.size(), 1U);
  EXPECT_EQ(e.bands[0].of, "framework");
  EXPECT_TRUE(e.runs.empty());
  EXPECT_TRUE(evidence_of(rows(kMemoryBand, 11, "generic")).bands.empty());
  EXPECT_EQ(e.bands[0].low_ratio, 1) << "eleven rows say no more than their extremes";
  EXPECT_EQ(e.bands[0].high_ratio, 2);
}

TEST(Bands, APredictionBoundIsOfOneFurtherRun) {
  std::vector<double> values;
  for (int i = 79; i >= 1; --i) values.push_back(i);
  EXPECT_DOUBLE_EQ(prediction_bound(values, 0.975), 78) << "79 values in order: the (79 + 1) x 0.975-th";
  EXPECT_DOUBLE_EQ(prediction_bound(values, 0.025), 2);
  EXPECT_DOUBLE_EQ(prediction_bound(values, 0.97), 77.6) << "between the 77th and the 78th";
  EXPECT_DOUBLE_EQ(prediction_bound({3, 1, 2}, 0.975), 3);
  EXPECT_EQ(prediction_bound({}, 0.5), 0);
}

TEST(Bands, AFileOfEvidenceThatIsWrongSaysWhere) {
  const auto json = parse_json(R"({"made_by":"","kind":"k","bands":[{"of":"gpu","name":"x","rows":0,
    "low_ratio":1,"high_ratio":1}],"runs":[]})",
                               "evidence");
  ASSERT_TRUE(json);
  ReadLog log{"evidence", {}};
  Evidence evidence;
  read_evidence(JsonNode(&json.value(), "", &log), evidence);
  ASSERT_TRUE(log.error);
  EXPECT_THAT(log.error->where, testing::HasSubstr("rows"));
}

}  // namespace
}  // namespace shardplan
