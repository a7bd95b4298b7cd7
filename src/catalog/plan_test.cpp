#include "catalog/plan.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace shardplan {
namespace {

static_assert(std::is_trivially_copyable_v<Plan>);

TEST(Recompute, EverySpellingReadsBackAsItself) {
  for (const char* text : {"none", "selective", "full", "full:1", "full:4", "uniform:2", "layernorm",
                           "moe_act,layernorm", "core_attn,mla_up_proj,mlp,moe,shared_experts"}) {
    const auto read = recompute_named(text);
    ASSERT_TRUE(read.has_value()) << text;
    EXPECT_EQ(name(*read), text);
    Plan p;
    p.recompute = *read;
    if (*read == Recompute::kNone) continue;
    EXPECT_TRUE(canonical(p).ends_with(std::string("·") + text)) << text;
  }
}

TEST(Recompute, OneMeaningHasOneText) {
  EXPECT_EQ(recompute_named("core_attn"), Recompute::kSelective);
  EXPECT_EQ(recompute_named("uniform:1"), Recompute::kFull);
  EXPECT_EQ(recompute_named("layernorm,moe-act"), recompute_named("moe_act,layernorm,layernorm"));
  EXPECT_LT(Recompute::kNone, Recompute::kSelective);
  EXPECT_LT(Recompute::kSelective, Recompute::kFull);
}

TEST(Recompute, RefusesWhatMeansNothing) {
  for (const char* text : {"", ",", "fulll", "full:", "full:0", "full:-1", "full:4x", "full:99999999999",
                           "uniform:0", "mlp,", "mlp,,moe", "selective,mlp", "mlp moe"}) {
    EXPECT_FALSE(recompute_named(text).has_value()) << text;
  }
}

TEST(Degree, OfAPlanAndToldOfOne) {
  for (std::size_t i = 0; i < kDegreeCount; ++i) {
    const auto degree = static_cast<Degree>(i), next = static_cast<Degree>((i + 1) % kDegreeCount);
    Plan plan;
    FixedAxes fixed;
    plan.zero_stage = 1;
    const std::int32_t of_next = degree_of(plan, next);
    set_degree(plan, degree, 3);
    EXPECT_EQ(degree_of(plan, degree), 3) << name(degree);
    EXPECT_EQ(degree_of(plan, next), of_next) << name(degree);
    fixed.tell(degree, 3);
    EXPECT_EQ(fixed.told(degree), 3) << name(degree);
    EXPECT_FALSE(fixed.told(next)) << name(degree);
  }
  Plan plan;
  FixedAxes fixed;
  set_degree(plan, Degree::kMicroBatch, 3);
  fixed.tell(Degree::kInterleave, 5);
  EXPECT_EQ(plan.micro_batch, 3);
  EXPECT_EQ(fixed.interleave, 5);
}

TEST(Degree, ZeroShardsOverAGroupOrAllReplicasOrNothing) {
  Plan plan;
  plan.dp = 8;
  plan.cp = 2;
  EXPECT_EQ(degree_of(plan, Degree::kShardGroup), 1);
  plan.zero_stage = 2;
  EXPECT_EQ(degree_of(plan, Degree::kShardGroup), 16);
  plan.shard_group = 4;
  EXPECT_EQ(degree_of(plan, Degree::kShardGroup), 4);
  FixedAxes fixed;
  fixed.shard_group = 0;
  EXPECT_FALSE(fixed.told(Degree::kShardGroup));
}

TEST(Degree, BoundsInWords) {
  EXPECT_EQ(words(Degree::kTp, {2, 8}), "from 2 to 8");
  EXPECT_EQ(words(Degree::kTp, {2, DegreeBounds{}.most}), "at least 2");
  EXPECT_EQ(words(Degree::kTp, {0, 8}), "at most 8");
  EXPECT_EQ(words(Degree::kTp, {4, 4}), "4");
  EXPECT_EQ(words(Degree::kTp, {0, 1}), "1");
  EXPECT_EQ(words(Degree::kZero, {0, 1}), "at most 1");
  EXPECT_EQ(words(Degree::kZero, {1, 2}), "from 1 to 2");
  EXPECT_EQ(words(Degree::kZero, {0, 0}), "0");
}

TEST(Offload, NamesReadBack) {
  for (const char* text :
       {"none", "optimizer", "params", "optimizer,activations", "optimizer,params,activations"}) {
    const auto read = offload_named(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(offload_names(*read), text);
  }
  EXPECT_FALSE(offload_named("optimiser"));
  EXPECT_FALSE(offload_named("optimizer,"));
}

TEST(Canonical, SaysWhereStateIsAndHowFarItIsShared) {
  Plan p;
  p.dp = 16;
  p.zero_stage = 3;
  p.shard_group = 8;
  p.offload = *offload_named("optimizer,params");
  EXPECT_EQ(canonical(p), "dp16·z3·mb1·sg8·offload:optimizer,params");
}

}  // namespace
}  // namespace shardplan
