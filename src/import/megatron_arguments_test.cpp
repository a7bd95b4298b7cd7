#include "import/megatron_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardplan {
namespace {

TEST(MegatronArguments, ValuesMayHoldSpaces) {
  const MegatronArguments args(
      "--num-layers=12 --step-batch-size-schedule=0:384 200B:768 --swiglu --seq-length 4096");
  EXPECT_EQ(args.number("num-layers", 1), 12);
  EXPECT_EQ(args.number("seq-length", 1), 4096);
  EXPECT_EQ(args.text("step-batch-size-schedule"), "0:384 200B:768");
  EXPECT_TRUE(args.has("swiglu"));
  EXPECT_EQ(args.number("hidden-size", 512), 512) << "not there";
  EXPECT_EQ(args.number("swiglu", 1), std::nullopt) << "no number";
}

TEST(MegatronArguments, WhichLayersHaveExperts) {
  using testing::ElementsAre;
  EXPECT_THAT(*moe_layers("([0]*1+[1]*3)", 4), ElementsAre(false, true, true, true));
  EXPECT_THAT(*moe_layers("2", 4), ElementsAre(true, false, true, false));
  EXPECT_EQ(moe_layers("([0]*1+[1]*3)", 5), std::nullopt) << "four entries for five layers";
  EXPECT_EQ(moe_layers("([0]*999999999999+[1]*3)", 5), std::nullopt);
  EXPECT_EQ(moe_layers("every other", 4), std::nullopt);
}

std::vector<std::int64_t> layers_of(const char* layout) {
  std::vector<std::int64_t> layers;
  for (const PipelineChunk& chunk : pipeline_layout(layout).value_or(std::vector<PipelineChunk>{}))
    layers.push_back(chunk.layers);
  return layers;
}

TEST(MegatronArguments, LayersOfEachChunk) {
  using testing::ElementsAre;
  EXPECT_THAT(layers_of("Et*3|(tt|)*2tmL"), ElementsAre(3, 2, 2, 1));
  EXPECT_THAT(layers_of("Ettt|(tt|)*2,m|L"), ElementsAre(3, 2, 2, 0, 0));
  EXPECT_THAT(layers_of("EttL"), ElementsAre(2));
  EXPECT_EQ(pipeline_layout("Et|tmL")->back().prediction_layers, 1);
  for (const char* wrong :
       {"", "Et|t", "t|tL", "Ex|tL", "E(tt|L", "E(tt|)tL", "Et*|L", "Et*999999999999|L"}) {
    EXPECT_EQ(pipeline_layout(wrong), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace shardplan
