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

}  // namespace
}  // namespace shardplan
