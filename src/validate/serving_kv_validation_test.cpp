#include "validate/serving_kv_validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "import/json_text.h"

namespace shardplan {
namespace {

using testing::HasSubstr;

constexpr const char* kColumns =
    "model,precision,kv_precision,gpu,tp,pp,engine,metric,value,unit,source,total_gib,gpu_memory_utilization,"
    "weights_gib,activation_gib,non_torch_gib,kv_gib\n";

Validation of(const std::string& row) {
  return validate_serving_kv(read_csv(std::string(kColumns) + row + "\n", "t.csv").value(), catalog());
}

TEST(ServingKv, TokensAreTakenFromTheStatedRoomAndFromItsParts) {
  const Validation v = of(
      "Llama-2-7B,bf16/fp16,auto,card,1,1,vLLM,startup_kv_tokens,115056,tokens,s,79.19,0.9,12.55,2.38,0.16,56.18");
  ASSERT_EQ(v.rows.size(), 2U);
  EXPECT_EQ(v.rows[0].features[0], "stated");
  EXPECT_NEAR(v.rows[0].predicted, 115056, 16);
  EXPECT_EQ(v.rows[1].features[0], "derived");
  EXPECT_NEAR(v.rows[1].predicted, 115056, 32);
}

TEST(ServingKv, WeightsNeedTheirFormatAndTheSplit) {
  const Validation v =
      of("Qwen3-30B-A3B,bf16,auto,card,2,1,vLLM,startup_weights_GiB_per_gpu,28.48,GiB,s,,,,,,");
  ASSERT_EQ(v.rows.size(), 1U);
  EXPECT_EQ(v.rows[0].unit, "bytes");
  EXPECT_LT(v.rows[0].ape(), 0.005);
  const Validation untold =
      of("Qwen3-30B-A3B,,auto,card,2,1,vLLM,startup_weights_GiB_per_gpu,28.48,GiB,s,,,,,,");
  ASSERT_EQ(untold.skipped.size(), 1U);
  EXPECT_THAT(untold.skipped[0].reason, HasSubstr("format is not printed"));
}

TEST(ServingKv, WhatIsNotPrintedIsNotGuessed) {
  const auto reason = [](const std::string& row) {
    const Validation v = of(row);
    return v.skipped.empty() ? std::string("read") : v.skipped[0].reason;
  };
  EXPECT_THAT(reason("Llama-3.1-8B,bf16,auto,card,1,1,vLLM,startup_kv_tokens,221824,tokens,s,,,,,,"),
              HasSubstr("neither the room"));
  EXPECT_THAT(reason("Qwen2.5-7B,int4,auto,card,1,1,vLLM,startup_kv_tokens,0,tokens,s,,,,,,-1.05"),
              HasSubstr("no room"));
  EXPECT_THAT(reason("secret,bf16,auto,card,1,1,vLLM,startup_kv_tokens,5,tokens,s,,,,,,1"),
              HasSubstr("no shape"));
  EXPECT_THAT(reason("Llama-3.1-8B,bf16,auto,card,1,1,mlx,startup_kv_tokens,5,tokens,s,,,,,,1"),
              HasSubstr("no serving engine"));
}

// The bars of published start-ups; rows that miss them are in the table.
TEST(ServingKv, PublishedStartUpsAreAsNearAsTheyWere) {
  const auto text = read_text_file(std::string(SHARDPLAN_SOURCE_DIR) + "/validation/serving_startup.csv",
                                   std::size_t{64} << 20U);
  ASSERT_TRUE(text);
  const Validation all = validate_serving_kv(read_csv(*text, "serving_startup.csv").value(), catalog());
  std::map<std::string, std::pair<int, int>> near;  // of a counter: rows, and those within its bar
  const std::map<std::string, double> bars{{"stated", 0.005}, {"derived", 0.02}, {"weights", 0.01}};
  for (const ValidatedRow& row : all.rows) {
    auto& [rows, within] = near[row.features[0]];
    ++rows;
    if (row.ape() <= bars.at(row.features[0])) ++within;
  }
  EXPECT_EQ(near["stated"], std::pair(11, 10));
  EXPECT_GE(near["derived"].second * 10, near["derived"].first * 9);
  EXPECT_GE(near["weights"].second, 8);
}

}  // namespace
}  // namespace shardplan
