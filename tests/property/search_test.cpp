// What bounds exclude is not what was looked for: a search that skips finds the plans that a search of every
// plan finds, and the space it counts is the one that its rules, restated here, allow.
#include "search/search.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <vector>

#include "estimate/plan_evaluator.h"
#include "graph/stages.h"
#include "import/catalog.h"
#include "import/question.h"

namespace shardplan {
namespace {

struct Asked {
  const char *model, *gpu, *gpus, *sequence, *batch, *framework;
  bool whole_engine = false;
};

/// Some with all that an engine can have, whichever the catalog says of the framework.
Question question(const Asked& asked) {
  QuestionSpec spec;
  spec.model = asked.model;
  spec.gpu = asked.gpu;
  spec.gpus = asked.gpus;
  spec.seq = asked.sequence;
  spec.global_batch = asked.batch;
  spec.framework = asked.framework;
  Question q = build_question(spec, catalog()).value();
  if (!asked.whole_engine) return q;
  q.framework.engine.schedules = {Schedule::kGpipe, Schedule::k1F1B, Schedule::kInterleaved,
                                  Schedule::kZbH1,  Schedule::kZbV,  Schedule::kDualPipe};
  q.framework.engine.shard_groups = q.framework.engine.recomputed_layers = Source{};
  return q;
}

// Some fit easily, some barely, some not at all; GPU counts of one, odd and several primes.
const std::vector<Asked> kAsked{
    {"llama3-8b", "h100-sxm", "8", "8192", "64", "generic"},
    {"llama3-8b", "h100-sxm", "24", "4096", "48", "megatron"},
    {"llama3-70b", "h100-sxm", "64", "8192", "128", "megatron"},
    {"llama3-70b", "a100-40gb-sxm", "16", "4096", "32", "generic"},
    {"gpt3-175b", "a100-80gb-sxm", "64", "2048", "96", "torchtitan"},
    {"qwen3-235b-a22b", "h100-sxm", "32", "4096", "32", "generic"},
    {"gpt-oss-120b", "b200", "8", "8192", "16", "megatron"},
    {"llama3-8b", "h100-sxm", "1", "4096", "4", "fsdp"},
    {"llama3-8b", "l40s", "6", "2048", "12", "deepspeed"},
    {"llama3-8b", "h100-sxm", "12", "4096", "24", "generic", true},
    {"gpt-oss-120b", "h100-sxm", "16", "4096", "32", "megatron", true},
};

std::string said(const Asked& a) {
  return std::string(a.model) + " on " + a.gpus + " x " + a.gpu + ", " + a.framework;
}

Plan layout_of(const Plan& p) {
  Plan layout;
  layout.dp = p.dp;
  layout.tp = p.tp;
  layout.pp = p.pp;
  layout.cp = p.cp;
  layout.ep = p.ep;
  layout.etp = p.etp;
  return layout;
}

TEST(Search, FindsWhatASearchOfEveryPlanFinds) {
  for (const Asked& asked : kAsked) {
    const Question q = question(asked);
    const Estimator estimator(q);
    std::map<Plan, Estimate> best;  // by layout
    std::int64_t plans = 0, fit = 0;
    estimator.space().for_each({}, [&](const Plan& plan) {
      ++plans;
      const Outcome outcome = estimator.estimate(plan);
      const Estimate* e = std::get_if<Estimate>(&outcome);
      if (e == nullptr) return;
      ++fit;
      const auto [at, first] = best.try_emplace(layout_of(plan), *e);
      if (!first && better(*e, at->second)) at->second = *e;
    });
    const SearchResult found = search(estimator, {}, 3);
    EXPECT_EQ(found.census.considered, plans) << said(asked);
    EXPECT_LE(found.census.feasible, fit) << said(asked);
    const std::int64_t rejected =
        std::accumulate(found.census.rejected.begin(), found.census.rejected.end(), std::int64_t{0});
    EXPECT_EQ(found.census.judged(), found.census.feasible + rejected) << said(asked);
    ASSERT_EQ(found.leaders.size(), best.size()) << said(asked);
    for (const Plan& leader : found.leaders)
      EXPECT_EQ(canonical(leader), canonical(best.at(layout_of(leader)).plan)) << said(asked);
    ASSERT_EQ(found.best.has_value(), fit > 0) << said(asked);
    const SearchResult alone = fastest(estimator, {});
    ASSERT_EQ(alone.best.has_value(), fit > 0) << said(asked);
    if (!found.best) continue;
    EXPECT_EQ(alone.best->plan, found.best->plan) << said(asked);
    EXPECT_EQ(fastest(estimator, {}, found.leaders.back()).best->plan, found.best->plan) << said(asked);
  }
}

TEST(Search, NamesTheNearestMissOfEveryPlan) {
  for (const Asked& asked : {Asked{"llama3-70b", "h100-sxm", "8", "8192", "16", "generic"},
                             Asked{"gpt3-175b", "a100-40gb-sxm", "32", "2048", "32", "megatron"}}) {
    const Question q = question(asked);
    const Estimator estimator(q);
    std::optional<Bytes<>> least;
    estimator.space().for_each({}, [&](const Plan& plan) {
      int stage = 0;
      const Bytes<> total = estimator.fullest_memory<double>(plan, stage).total();
      if (!least || total < *least) least = total;
    });
    const Census census = search(estimator, {}, 0).census;
    ASSERT_EQ(census.feasible, 0) << said(asked);
    ASSERT_TRUE(census.nearest_miss) << said(asked);
    EXPECT_EQ(census.nearest_miss->memory.total(), *least) << said(asked);
    EXPECT_GT(census.larger, 0) << said(asked);
  }
}

TEST(Search, NoBoundIsAboveAPlanItSpeaksFor) {
  for (const Asked& asked : kAsked) {
    const Question q = question(asked);
    const Estimator estimator(q);
    PlanEvaluator judge(estimator);
    constexpr double kRounding = 1 + 1e-9;
    for (const Plan& layout : estimator.space().layouts({})) {
      const LayoutPlans plans = estimator.space().plans_of(layout, {});
      std::size_t at = 0;
      estimator.space().for_each_of(layout, {}, [&](const Plan& plan) {
        if (at++ % 53 != 0) return;
        int stage = 0;
        const double step = judge.time(plan).total().raw(),
                     total = judge.fullest_memory(plan, stage).total().raw();
        ASSERT_LE(judge.least_step_of_micro_batch(plan).raw(), step * kRounding) << canonical(plan);
        ASSERT_LE(judge.least_step(plan).raw(), step * kRounding) << canonical(plan);
        ASSERT_LE(judge.least_memory(plan, plans.states).raw(), total * kRounding) << canonical(plan);
        ASSERT_LE(judge.least_memory_of_state(plan).raw(), total * kRounding) << canonical(plan);
      });
    }
  }
}

// The space from its rules alone, axis by axis, without divisors and without the program's own legality.

struct Shape {
  int layers = 0, heads = 0, kv_heads = 0, width = 0, experts = 0, expert_width = 0;
};

Shape shape_of(const Model& m) {
  Shape s;
  s.layers = static_cast<int>(m.layers.size());
  for (const Layer& layer : m.layers) {
    if (const auto* a = std::get_if<Attention>(&layer.mixer)) {
      s.heads = static_cast<int>(a->heads);
      s.kv_heads = static_cast<int>(a->kv_heads);
    }
    if (const auto* d = std::get_if<DenseMlp>(&layer.mlp)) s.width = static_cast<int>(d->width);
    if (const auto* e = std::get_if<MoeMlp>(&layer.mlp)) {
      s.experts = static_cast<int>(e->experts);
      s.expert_width = static_cast<int>(e->width);
    }
  }
  return s;
}

/// Ways to share state over the replicas.
std::int64_t states(const Framework& f, Plan p) {
  const int replicas = p.dp * p.cp, expert_replicas = replicas * p.tp / (p.ep * p.etp);
  std::int64_t count = 0;
  for (int zero = 0; zero < 4; ++zero) {
    if (!f.zero[static_cast<std::size_t>(zero)].allowed || (zero > 0 && replicas == 1)) continue;
    ++count;
    if (zero == 0 || !f.engine.shard_groups) continue;
    p.zero_stage = static_cast<std::int8_t>(zero);
    for (p.shard_group = 2; p.shard_group < replicas; ++p.shard_group)
      if (replicas % p.shard_group == 0 && expert_replicas % expert_shard_group(p).count == 0) ++count;
  }
  return count;
}

/// Micro-batches, schedules, interleavings and recomputations of a layout.
std::int64_t pipelines(const Question& q, const Shape& m, const Plan& p) {
  const int batch = static_cast<int>(q.workload.global_batch);
  std::int64_t count = 0;
  for (int micro = 1; micro * p.dp <= batch; ++micro) {
    if (batch % (micro * p.dp) != 0) continue;
    const int micro_batches = batch / (micro * p.dp);
    for (const Schedule schedule : q.framework.engine.schedules) {
      for (int v = 1; v <= m.layers; ++v) {
        if ((v > 1) != (schedule == Schedule::kInterleaved)) continue;
        if (p.pp == 1 && schedule != Schedule::k1F1B) continue;
        if (schedule == Schedule::kDualPipe &&
            (p.pp % 2 != 0 || micro_batches % 2 != 0 || micro_batches < 2 * p.pp))
          continue;
        if (v > 1 && (m.layers % (p.pp * v) != 0 || micro_batches % p.pp != 0)) continue;
        const int chunks = schedule == Schedule::kZbV ? 2 * p.pp : p.pp * v;
        if (chunks > m.layers || (chunks != p.pp && m.layers % chunks != 0)) continue;
        const int largest = (m.layers + chunks - 1) / chunks;
        count += 3 + (q.framework.engine.recomputed_layers ? largest - 1 : 0);
      }
    }
  }
  return count;
}

/// Plans of a split of the ranks, over all ways to divide the experts.
std::int64_t with_experts(const Question& q, const Shape& m, Plan p) {
  std::int64_t count = 0;
  for (p.ep = 1; p.ep <= std::max(1, m.experts); ++p.ep) {
    if (m.experts > 0 && m.experts % p.ep != 0) continue;
    for (p.etp = 1; p.etp <= p.tp; ++p.etp) {
      if (p.etp != 1 && (p.etp != p.tp || m.experts == 0 || m.expert_width % p.etp != 0)) continue;
      if (p.dp * p.cp * p.tp % (p.ep * p.etp) != 0) continue;
      count += states(q.framework, p) * pipelines(q, m, p);
    }
  }
  return count;
}

std::int64_t enumerated(const Question& q) {
  const Shape m = shape_of(q.model);
  const int gpus = static_cast<int>(q.cluster.gpus), sequence = static_cast<int>(q.workload.sequence);
  std::int64_t count = 0;
  Plan p;
  for (p.tp = 1; p.tp <= gpus; ++p.tp) {
    if (m.heads % p.tp != 0 || (m.kv_heads % p.tp != 0 && p.tp % m.kv_heads != 0)) continue;
    if (m.width > 0 && m.width % p.tp != 0) continue;
    for (p.cp = 1; p.cp * p.tp <= gpus; ++p.cp) {
      if (p.cp > 1 && sequence % (2 * p.cp) != 0) continue;
      if (p.tp > 1 && sequence % (p.cp * p.tp) != 0) continue;
      for (p.pp = 1; p.pp * p.cp * p.tp <= gpus && p.pp <= m.layers; ++p.pp) {
        if (gpus % (p.tp * p.cp * p.pp) != 0) continue;
        p.dp = gpus / (p.tp * p.cp * p.pp);
        count += with_experts(q, m, p);
      }
    }
  }
  return count;
}

TEST(Search, CountsThePlansThatTheRulesAllow) {
  for (const Asked& asked : kAsked) {
    const Question q = question(asked);
    const Estimator estimator(q);
    EXPECT_EQ(search(estimator, {}, 0).census.considered, enumerated(q)) << said(asked);
  }
}

}  // namespace
}  // namespace shardplan
