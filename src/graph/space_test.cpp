#include "graph/space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "graph/placement.h"
#include "graph/stages.h"

namespace shardplan {
namespace {

Question small_question(std::int64_t gpus, std::int64_t batch, std::int64_t experts) {
  Question q;
  q.model.hidden = 64;
  Layer layer;
  layer.mixer = Attention{.heads = 8, .kv_heads = 4, .head_dim = 8};
  if (experts > 0) {
    layer.mlp = MoeMlp{.experts = experts, .top_k = 2, .width = 32};
  } else {
    layer.mlp = DenseMlp{.width = 256};
  }
  q.model.layers.assign(12, layer);
  q.cluster.gpus = gpus;
  q.workload.sequence = 64;
  q.workload.global_batch = batch;
  for (std::size_t z = 0; z < q.framework.zero.size(); ++z)
    q.framework.zero[z] = {true, z >= 3, z >= 2, z >= 1};
  return q;
}

/// Every combination of axis values up to the GPU count, kept where it is legal.
std::set<Plan> brute_force(const Question& q, const Space& space) {
  std::set<Plan> legal;
  const auto gpus = static_cast<std::int32_t>(q.cluster.gpus);
  const auto batch = static_cast<std::int32_t>(q.workload.global_batch);
  Plan p;
  const auto inner = [&] {
    for (p.micro_batch = 1; p.micro_batch <= batch; ++p.micro_batch) {
      for (p.grad_accumulation = 1; p.grad_accumulation <= batch; ++p.grad_accumulation) {
        if (p.dp * p.micro_batch * p.grad_accumulation != batch) continue;
        for (p.interleave = 1; p.interleave <= 12; ++p.interleave) {
          for (const Schedule s : {Schedule::k1F1B, Schedule::kInterleaved}) {
            p.schedule = s;
            for (std::int8_t z = 0; z <= 3; ++z) {
              p.zero_stage = z;
              for (const Recompute r : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
                p.recompute = r;
                if (!space.first_broken(p)) legal.insert(p);
              }
            }
          }
        }
      }
    }
  };
  for (p.tp = 1; p.tp <= gpus; ++p.tp) {
    for (p.cp = 1; p.cp <= gpus; ++p.cp) {
      for (p.pp = 1; p.pp <= gpus; ++p.pp) {
        for (p.dp = 1; p.dp <= gpus; ++p.dp) {
          if (p.gpus() != gpus) continue;
          p.sequence_parallel = p.tp > 1;
          for (p.ep = 1; p.ep <= gpus; ++p.ep) {
            for (p.etp = 1; p.etp <= gpus; ++p.etp) inner();
          }
        }
      }
    }
  }
  return legal;
}

void expect_same_space(const Question& q) {
  const Space space(q);
  const std::set<Plan> expected = brute_force(q, space);
  std::set<Plan> visited;
  const std::int64_t count = space.for_each({}, [&](const Plan& p) { visited.insert(p); });
  EXPECT_EQ(count, static_cast<std::int64_t>(visited.size())) << "a plan was visited twice";
  EXPECT_EQ(visited.size(), expected.size());
  EXPECT_TRUE(visited == expected);
  EXPECT_GT(count, 0);
}

TEST(Space, HasExactlyTheLegalPlansOfADenseModel) {
  for (const std::int64_t gpus : {1, 2, 4, 6, 8}) {
    SCOPED_TRACE(gpus);
    expect_same_space(small_question(gpus, 8, 0));
  }
}

TEST(Space, HasExactlyTheLegalPlansOfAMixtureOfExperts) {
  for (const std::int64_t gpus : {2, 4, 8}) {
    SCOPED_TRACE(gpus);
    expect_same_space(small_question(gpus, 8, 4));
  }
}

TEST(Space, FixedAxesNarrowTheSpace) {
  const Question q = small_question(8, 8, 0);
  const Space space(q);
  FixedAxes fixed;
  fixed.tp = 2;
  fixed.recompute = Recompute::kFull;
  const std::int64_t narrow = space.for_each(fixed, [&](const Plan& p) {
    EXPECT_EQ(p.tp, 2);
    EXPECT_EQ(p.recompute, Recompute::kFull);
  });
  EXPECT_GT(narrow, 0);
  EXPECT_LT(narrow, space.for_each({}, [](const Plan&) {}));
}

TEST(Space, BoundsKeepThePlansBetweenThem) {
  const Question q = small_question(8, 8, 4);
  const Space space(q);
  FixedAxes bounded;
  bounded.bounds_of(Degree::kTp) = {2, 4};
  bounded.bounds_of(Degree::kMicroBatch).most = 2;
  bounded.bounds_of(Degree::kInterleave).least = 2;
  bounded.bounds_of(Degree::kEp).most = 1;
  std::set<Plan> expected, visited;
  space.for_each({}, [&](const Plan& p) {
    if (p.tp >= 2 && p.tp <= 4 && p.micro_batch <= 2 && p.interleave >= 2 && p.ep == 1) expected.insert(p);
  });
  space.for_each(bounded, [&](const Plan& p) { visited.insert(p); });
  EXPECT_GT(expected.size(), 10u);
  EXPECT_TRUE(visited == expected);
}

TEST(Space, BoundsOnTheStageAndOnWhatItShardsOver) {
  Question q = small_question(8, 8, 4);
  q.framework.engine.shard_groups = Source{};
  const Space space(q);
  const auto visited = [&](const FixedAxes& fixed) {
    std::set<Plan> plans;
    EXPECT_EQ(space.for_each(fixed, [&](const Plan& p) { plans.insert(p); }), space.count(fixed));
    return plans;
  };
  const std::set<Plan> all = visited({});
  FixedAxes bounded;
  bounded.bounds_of(Degree::kZero) = {1, 2};
  bounded.bounds_of(Degree::kShardGroup).most = 4;
  std::set<Plan> expected, wide;
  for (const Plan& p : all) {
    const std::int32_t ranks = p.shard_group > 0 ? p.shard_group : p.dp * p.cp;
    if (p.zero_stage < 1 || p.zero_stage > 2) continue;
    (ranks <= 4 ? expected : wide).insert(p);
  }
  EXPECT_GT(expected.size(), 100u);
  EXPECT_GT(wide.size(), 100u);
  EXPECT_TRUE(visited(bounded) == expected);
  bounded.bounds_of(Degree::kShardGroup) = {5, 8};
  EXPECT_TRUE(visited(bounded) == wide);
  bounded.bounds_of(Degree::kZero) = {0, 0};
  EXPECT_TRUE(visited(bounded).empty());
}

std::int64_t layers_of_chunk(const Plan& p, std::int64_t chunk) { return chunk_layers(12, p, chunk).count(); }

/// The plans of the space, each once, as it counts them and as it numbers those of a layout.
std::set<Plan> plans_within(const Space& space, const FixedAxes& fixed) {
  std::set<Plan> plans;
  EXPECT_EQ(space.for_each(fixed, [&](const Plan& p) { plans.insert(p); }), space.count(fixed));
  EXPECT_EQ(static_cast<std::int64_t>(plans.size()), space.count(fixed));
  space.for_some(fixed, 1 << 20, [&](const Plan& p) { EXPECT_EQ(plans.count(p), 1U) << canonical(p); });
  return plans;
}

TEST(Space, LayersOfTheEndsAreToldBoundedOrAsTheOthers) {
  Question q = small_question(8, 8, 0);
  q.framework.engine.uneven_ends = Source{};
  q.whole_space = true;
  const Space space(q);
  const std::set<Plan> all = plans_within(space, {});
  const auto expect = [&](const FixedAxes& fixed, auto agrees) {
    std::set<Plan> expected;
    for (const Plan& p : all) {
      const std::int64_t chunks = all_chunks(p), first = layers_of_chunk(p, 0),
                         last = layers_of_chunk(p, chunks - 1);
      const std::int64_t others = chunks > 2 ? layers_of_chunk(p, 1) : 0;
      if (agrees(first, last, others, p.first_layers == Plan::kEven)) expected.insert(p);
    }
    EXPECT_GT(expected.size(), 10U);
    EXPECT_LT(expected.size(), all.size());
    EXPECT_TRUE(plans_within(space, fixed) == expected);
  };
  FixedAxes first, last, both, bounded, forbidden;
  first.first_layers = 3;
  expect(first, [](auto f, auto, auto, bool) { return f == 3; });
  last.last_layers = 2;
  expect(last, [](auto, auto l, auto, bool) { return l == 2; });
  both.first_layers = both.last_layers = 2;
  expect(both, [](auto f, auto l, auto, bool) { return f == 2 && l == 2; });
  bounded.bounds_of(Degree::kFirstLayers) = {2, 3};
  bounded.bounds_of(Degree::kLastLayers).most = 4;
  expect(bounded, [](auto f, auto l, auto, bool) { return f >= 2 && f <= 3 && l <= 4; });
  forbidden.first_layers = 0;
  expect(forbidden, [](auto f, auto, auto others, bool even) { return even || f == others; });
  forbidden.last_layers = 0;
  expect(forbidden,
         [](auto f, auto l, auto others, bool even) { return even || (f == others && l == others); });
}

TEST(Space, WhoTellsTheLayersOfAnEndIsAnsweredAmongTheUsualPlansToo) {
  Question q = small_question(8, 8, 0);
  const Space even(q);
  FixedAxes told, bounded;
  told.first_layers = 1;
  told.pp = bounded.pp = 2;
  bounded.bounds_of(Degree::kLastLayers).most = 4;
  const auto ends = [](const std::set<Plan>& plans) {
    std::set<std::pair<int, int>> found;
    for (const Plan& p : plans)
      if (p.interleave == 1) found.insert({p.first_layers, p.last_layers});
    return found;
  };
  EXPECT_EQ(ends(plans_within(even, told)), (std::set<std::pair<int, int>>{{1, 11}}));
  EXPECT_TRUE(ends(plans_within(even, bounded)).empty()) << "nothing is known to deal them so";
  q.framework.engine.uneven_ends = Source{};
  EXPECT_EQ(ends(plans_within(Space(q), bounded)),
            (std::set<std::pair<int, int>>{{8, 4}, {9, 3}, {10, 2}, {11, 1}}));
}

TEST(Space, ChunksThatAreAllToldHoldAllLayers) {
  const Question q = small_question(2, 2, 0);
  const Space space(q);
  Plan p;
  p.pp = 2;
  p.grad_accumulation = 2;
  p.first_layers = 5;
  p.last_layers = 7;
  EXPECT_FALSE(space.first_broken(p));
  p.last_layers = 6;
  EXPECT_EQ(space.first_broken(p), Constraint::kLayers);
  EXPECT_NE(space.violation(p)->where.find("the first one is told to hold 5, the last one 6"),
            std::string::npos);
  p.last_layers = Plan::kEven;
  EXPECT_FALSE(space.first_broken(p));
}

/// Bounds of a search are made of them: a rank may hold more, never less.
TEST(Space, NoRankOfADealingHoldsLessThanIsSaidOfIt) {
  Question q = small_question(8, 16, 0);
  q.whole_space = true;
  q.framework.engine.uneven_ends = Source{};
  q.framework.engine.schedules.assign(kSchedules.begin(), kSchedules.end());
  const Space space(q);
  int seen = 0, exact = 0;
  const auto check = [&](const Plan& plan, const RankLayers& said) {
    std::vector<std::int64_t> held(static_cast<std::size_t>(plan.pp), 0);
    for (std::int64_t rank = 0; rank < plan.pp; ++rank)
      for (int i = 0; i < chunks_of_rank(plan); ++i)
        held[static_cast<std::size_t>(rank)] += chunk_layers(12, plan, rank_chunk(plan, rank, i)).count();
    const std::int64_t fullest = *std::max_element(held.begin(), held.end());
    EXPECT_LE(said.fullest, fullest) << canonical(plan);
    // Of a V the ends of the model are on its first rank.
    const bool folded = plan.schedule == Schedule::kZbV || plan.schedule == Schedule::kDualPipe;
    EXPECT_LE(said.last, folded ? held.front() : held.back()) << canonical(plan);
    ++seen;
    exact += said.fullest == fullest ? 1 : 0;
  };
  for (const Plan& layout : space.layouts({})) {
    const LayoutPlans plans = space.plans_of(layout, {});
    for (const auto& pipelines : plans.pipelines)
      for (const Pipeline& pipeline : pipelines)
        for (const Dealing& dealing : pipeline.dealings->all)
          check(dealt(pipeline.plan, dealing), rank_layers(dealt(pipeline.plan, dealing), dealing));
  }
  EXPECT_GT(seen, 1000);
  EXPECT_GT(exact, seen * 9 / 10);
}

TEST(Space, NamesTheRuleThatIsBroken) {
  const Question q = small_question(8, 8, 0);
  const Space space(q);
  const auto broken = [&](auto change) {
    Plan p;
    p.dp = 8;
    change(p);
    const auto v = space.violation(p);
    EXPECT_TRUE(v.has_value());
    EXPECT_FALSE(v->where.empty());
    return v->constraint;
  };
  EXPECT_EQ(broken([](Plan& p) { p.dp = 3; }), Constraint::kGpuCount);
  EXPECT_EQ(broken([](Plan& p) { p.ep = 2; }), Constraint::kExperts);
  EXPECT_EQ(broken([](Plan& p) { p.micro_batch = 3; }), Constraint::kBatch);
  EXPECT_EQ(broken([](Plan& p) { p.interleave = 2; }), Constraint::kSchedule);
  EXPECT_EQ(broken([](Plan& p) { p.schedule = Schedule::kZbV; }), Constraint::kSchedule);
  EXPECT_EQ(broken([](Plan& p) {
              p.dp = 4;
              p.pp = 2;
              p.grad_accumulation = 2;
              p.schedule = Schedule::kDualPipe;
            }),
            Constraint::kSchedule)
      << "2 x pp micro-batches";
}

Cluster two_tiers(std::int64_t node, std::int64_t gpus) {
  Cluster c;
  c.gpus = gpus;
  c.tiers = {{"node", node, {}, {}, {}}, {"network", gpus, {}, {}, {}}};
  return c;
}

TEST(Placement, SharesMultiplyToTheGroup) {
  const Cluster c = two_tiers(8, 64);
  for (const std::int64_t stride : {1, 2, 4, 8, 16}) {
    for (std::int64_t count = 1; stride * count <= 64; count *= 2) {
      const TierShares shares = members(c, {stride, count});
      std::int64_t product = 1;
      for (std::size_t i = 0; i < shares.tiers; ++i) product *= shares.ranks[i];
      EXPECT_EQ(product, count) << "stride " << stride << " count " << count;
    }
  }
  EXPECT_EQ(members(c, {1, 8}).outermost, 0u);
  EXPECT_EQ(members(c, {8, 8}).outermost, 1u);
  EXPECT_EQ(members(c, {8, 8}).ranks[0], 1);
  EXPECT_EQ(members(c, {1, 64}).ranks[0], 8);
}

}  // namespace
}  // namespace shardplan
