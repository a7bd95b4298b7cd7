#include "validate/serving_tpot_validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/json_text.h"
#include "validate/serving_row.h"

namespace shardplan {
namespace {

using testing::HasSubstr;

constexpr const char* kColumns =
    "model,precision,kv_precision,gpu,n_gpus,tp,pp,ep,dp_attn,batch_or_concurrency,input_len,output_len,engine,"
    "version,metric,value,unit,source,notes,serving_mode,kv_starved\n";

CsvTable table_of(const std::string& row) {
  return read_csv(std::string(kColumns) + row + "\n", "t.csv").value();
}

ServingRow row_of(const std::string& text) {
  const CsvTable table = table_of(text);
  const auto row = read_serving_row({table, 0}, catalog());
  EXPECT_TRUE(row) << (row ? "" : row.error().message);
  return row ? *row : ServingRow{};
}

std::string reason(const std::string& text) {
  const CsvTable table = table_of(text);
  const auto row = read_serving_row({table, 0}, catalog());
  return row ? "read" : row.error().message;
}

const std::string kEnd = ",TPOT,20,ms,s id=one,uniform in [0.8,aggregated,0";

TEST(ServingRow, IsReadFromTheMeasurementsColumns) {
  const ServingRow row =
      row_of("meta-llama/Llama-3.1-70B,fp8,fp8,h200_sxm,8,8,1,1,1,64,1024,1000,trtllm,1.0" + kEnd);
  EXPECT_EQ(row.id, "one");
  EXPECT_EQ(row.model.name, "llama3-70b");
  EXPECT_EQ(row.device->name, "h200");
  EXPECT_EQ(row.engine->name, "trtllm");
  EXPECT_EQ(row.split.tensor, 8);
  EXPECT_EQ(row.load.batch, 64);
  EXPECT_DOUBLE_EQ(row.load.output, 900);
  EXPECT_FALSE(row.load.one_length);
  EXPECT_EQ(row.format.cache_bits, 8);
  EXPECT_EQ(row.format.products, Precision::kFp8);
  EXPECT_DOUBLE_EQ(row.measured, 0.02);
}

TEST(ServingRow, KnowsModelsByTheirCheckpoints) {
  const auto name = [](const std::string& model) {
    return row_of(model + ",fp8,,H100,8,8,1,1,1,4,10,10,vLLM,1" + kEnd).model.name;
  };
  EXPECT_EQ(name("Qwen/Qwen3-235B-A22B-FP8"), "qwen3-235b-a22b");
  EXPECT_EQ(name("nvidia/Llama-3.1-8B-Instruct-FP8"), "llama3-8b");
  EXPECT_EQ(name("MiniMaxAI/MiniMax-M2.5"), "minimax-m2");
  EXPECT_THAT(reason("model not visible,fp8,,H100,1,1,1,1,1,4,10,10,vllm,1" + kEnd), HasSubstr("no shape"));
}

TEST(ServingRow, FourBitsOfAMixtureAreItsExperts) {
  const ServingRow on_hopper = row_of("openai/gpt-oss-120b,fp4,,h100_sxm,2,2,1,1,1,4,10,10,vllm,1" + kEnd);
  EXPECT_EQ(on_hopper.format.expert_bits, 4.25);  // as the checkpoint has them
  EXPECT_EQ(on_hopper.format.attention_bits, 16);
  EXPECT_EQ(on_hopper.format.products, Precision::kBf16);
  EXPECT_EQ(row_of("Qwen/Qwen3-32B,fp4,,b200_sxm,2,2,1,1,1,4,10,10,vllm,1" + kEnd).format.attention_bits,
            4.5);
}

TEST(ServingRow, HeadsThatTpDoesNotDivideMeanRepeatedAttention) {
  const ServingRow row =
      row_of("deepseek-ai/DeepSeek-R1,fp8,,gb200,72,72,1,1,1,4096,1024,1024,sglang,1" + kEnd);
  EXPECT_EQ(row.split.tensor, 1);
  EXPECT_EQ(row.split.data, 72);
  ASSERT_EQ(row.assumed.size(), 1U);
  EXPECT_THAT(row.assumed[0], HasSubstr("72 does not divide 128 heads"));
}

TEST(ServingRow, OfADisaggregatedRunTheReplicasThatDecodeCount) {
  const ServingRow row = row_of(
      "Qwen/Qwen3-32B,fp8,,h100_sxm,1,1,1,1,1,,4000,1000,sglang,1,TPOT,22,ms,s,"
      "disagg: prefill 5x(bs1 tp1 dp1 ep1) decode 11x(bs48 tp2 dp1 ep1),disaggregated,0");
  EXPECT_TRUE(row.load.prompts_elsewhere);
  EXPECT_EQ(row.load.batch, 48);
  EXPECT_EQ(row.split.tensor, 2);
  EXPECT_TRUE(row.load.one_length);
  EXPECT_EQ(row.id, "row 2");
}

TEST(ServingRow, WhatCannotBeSaidIsAReasonToSkip) {
  const std::string head = "Qwen/Qwen3-32B,fp8,,";
  EXPECT_THAT(reason(head + "h100_sxm,1,1,1,1,1,,10,10,vllm,1" + kEnd), HasSubstr("requests at once"));
  EXPECT_THAT(reason(head + "Z80,1,1,1,1,1,4,10,10,vllm,1" + kEnd), HasSubstr("no GPU named \"Z80\""));
  EXPECT_THAT(reason(head + "h100_sxm,1,1,1,1,1,4,10,10,mlx,1" + kEnd), HasSubstr("no serving engine"));
  EXPECT_THAT(reason(head + "h100_sxm,1,1,1,1,1,4,,10,vllm,1" + kEnd), HasSubstr("lengths"));
  EXPECT_THAT(reason(head + "h100_sxm,1,x,1,1,1,4,10,10,vllm,1" + kEnd), HasSubstr("tp is \"x\""));
  EXPECT_THAT(reason("Qwen/Qwen3-32B,fp3,,h100_sxm,1,1,1,1,1,4,10,10,vllm,1" + kEnd), HasSubstr("fp3"));
  EXPECT_THAT(reason(head + "h100_sxm,1,1,1,1,1,4,10,10,vllm,1,TPOT,2,ms,s,,aggregated,1"),
              HasSubstr("starved"));
}

// Errors may only shrink.
TEST(ServingTpot, PublishedRunsAreAsNearAsTheyWere) {
  const auto text = read_text_file(std::string(SHARDPLAN_SOURCE_DIR) + "/validation/serving_tpot.csv",
                                   std::size_t{64} << 20U);
  ASSERT_TRUE(text);
  const Validation all = validate_serving_tpot(read_csv(*text, "serving_tpot.csv").value(), catalog());
  std::map<std::string, std::vector<ValidatedRow>> classes;
  for (const ValidatedRow& row : all.rows) classes[row.features[0]].push_back(row);
  ASSERT_EQ(classes["dense"].size(), 419U);
  ASSERT_EQ(classes["mixture"].size(), 176U);
  ASSERT_EQ(classes["small"].size(), 26U);
  EXPECT_LT(error_stats(classes["dense"]).mape, 0.065);
  EXPECT_LT(error_stats(classes["mixture"]).mape, 0.175);
  EXPECT_GT(classes["disaggregated"].size(), 40U);
}

}  // namespace
}  // namespace shardplan
