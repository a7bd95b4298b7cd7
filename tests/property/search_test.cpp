// What bounds exclude is not what was looked for: a search that skips finds the plans that a search of every
// plan finds, and the space it counts is the one that its rules, restated here, allow.
#include "search/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "estimate/plan_evaluator.h"
#include "graph/stages.h"
#include "import/catalog.h"
#include "import/question.h"

namespace shardplan {
namespace {

struct Asked {
  const char *model, *gpu, *gpus, *sequence, *batch, *framework;
  /// Of the model, its first one and its last ones. Then all that an engine can have is searched, whichever
  /// the catalog says of the framework; else the usual plans.
  std::size_t layers = 0;
  const char* host_memory = nullptr;
};

Question question(const Asked& asked) {
  QuestionSpec spec;
  spec.model = asked.model;
  spec.gpu = asked.gpu;
  spec.gpus = asked.gpus;
  spec.seq = asked.sequence;
  spec.global_batch = asked.batch;
  spec.framework = asked.framework;
  if (asked.host_memory != nullptr) spec.host_memory = asked.host_memory;
  Question q = build_question(spec, catalog()).value();
  if (asked.layers == 0) return q;
  Framework::Engine& engine = q.framework.engine;
  std::vector<Layer>& layers = q.model.layers;
  layers.erase(layers.begin() + 1, layers.end() - static_cast<std::ptrdiff_t>(asked.layers - 1));
  engine.schedules = {Schedule::kGpipe, Schedule::k1F1B, Schedule::kInterleaved,
                      Schedule::kZbH1,  Schedule::kZbV,  Schedule::kDualPipe};
  engine.shard_groups = engine.recomputed_layers = engine.recomputed_groups = engine.recomputed_modules =
      engine.whole_sequences = engine.uneven_ends = Source{};
  engine.rank_orders.clear();
  for (const char* order : {"tp-cp-dp-pp", "tp-cp-pp-dp", "cp-tp-pp-dp", "pp-dp-tp-cp"})
    engine.rank_orders.push_back(rank_order_named(order).value());
  q.whole_space = true;
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
    {"llama3-70b", "h100-sxm", "8", "4096", "8", "generic", 6},
    {"gpt3-175b", "a100-40gb-sxm", "12", "2048", "12", "megatron", 5},
    {"gpt3-175b", "a100-80gb-sxm", "64", "2048", "16", "megatron", 7},
    {"deepseek-v3", "h100-sxm", "8", "4096", "4", "generic", 3},
    {"gpt3-175b", "a100-40gb-sxm", "4", "2048", "8", "deepspeed", 4, "400"},
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

struct EveryPlan {
  std::int64_t plans = 0, fit = 0;
  std::vector<Estimate> best;  // of each layout, best first
};

EveryPlan every_plan(const Estimator& estimator, const FixedAxes& fixed = {}) {
  EveryPlan every;
  PlanEvaluator judge(estimator);
  std::map<Plan, Estimate> best;
  estimator.space().for_each(fixed, [&](const Plan& plan) {
    ++every.plans;
    int stage = 0;
    Estimate e;
    e.plan = plan;
    e.usable = estimator.usable<double>();
    e.memory = judge.fullest_memory(plan, stage);
    if (estimator.broken_memory(plan, e.memory, e.usable)) return;
    ++every.fit;
    e.time = judge.time(plan);
    const auto [at, first] = best.try_emplace(layout_of(plan), e);
    if (!first && better(e, at->second)) at->second = e;
  });
  for (const auto& [layout, e] : best) every.best.push_back(e);
  std::sort(every.best.begin(), every.best.end(),
            [](const Estimate& a, const Estimate& b) { return better(a, b); });
  return every;
}

/// The best plans that were found, and no others.
void expect_first(const EveryPlan& every, const SearchResult& found, std::size_t wanted,
                  const std::string& what) {
  ASSERT_EQ(found.best.has_value(), !every.best.empty()) << what;
  if (!found.best) return;
  EXPECT_EQ(canonical(found.best->plan), canonical(every.best.front().plan)) << what;
  ASSERT_EQ(found.runners_up.size() + 1, std::min(wanted, every.best.size())) << what;
  for (std::size_t i = 0; i < found.runners_up.size(); ++i)
    EXPECT_EQ(canonical(found.runners_up[i].plan), canonical(every.best[i + 1].plan)) << what;
}

TEST(Search, FindsWhatASearchOfEveryPlanFinds) {
  for (const Asked& asked : kAsked) {
    const Question q = question(asked);
    const Estimator estimator(q);
    const EveryPlan every = every_plan(estimator);
    constexpr std::size_t kAll = 100'000;
    for (const std::size_t runners_up : {std::size_t{0}, std::size_t{3}, kAll}) {
      const SearchResult found = search(estimator, {}, SearchOptions{.runners_up = runners_up});
      expect_first(every, found, runners_up + 1, said(asked));
      EXPECT_EQ(found.census.considered, every.plans) << said(asked);
      EXPECT_LE(found.census.feasible, every.fit) << said(asked);
      const std::int64_t rejected =
          std::accumulate(found.census.rejected.begin(), found.census.rejected.end(), std::int64_t{0});
      EXPECT_EQ(found.census.judged(), found.census.feasible + rejected) << said(asked);
    }
    if (every.best.empty()) continue;
    const SearchResult near = fastest(estimator, {}, every.best.back().plan);
    EXPECT_EQ(near.best->plan, every.best.front().plan) << said(asked);
  }
}

/// Questions that nobody chose.
Asked drawn(std::mt19937& random) {
  const auto one_of = [&](std::initializer_list<const char*> all) {
    return all.begin()[random() % all.size()];
  };
  Asked asked{};
  const bool dense = random() % 2 == 0;
  asked.model = dense ? one_of({"llama3-8b", "llama3-70b", "gpt3-175b"})
                      : one_of({"deepseek-v3", "qwen3-235b-a22b", "gpt-oss-120b"});
  asked.framework = dense ? one_of({"generic", "megatron", "torchtitan", "deepspeed", "fsdp"})
                          : one_of({"generic", "megatron"});
  asked.gpu = one_of({"h100-sxm", "a100-40gb-sxm", "a100-80gb-sxm", "l40s", "h800"});
  asked.gpus = one_of({"1", "2", "3", "4", "6", "8", "10", "12", "16", "24", "32", "64"});
  asked.sequence = one_of({"1024", "2048", "4096", "8192"});
  asked.batch = one_of({"4", "8", "12", "24", "32", "60", "64"});
  asked.layers = random() % 3 == 0 ? 0 : 2 + random() % 6;
  return asked;
}

TEST(Search, FindsTheBestOfQuestionsThatNobodyChose) {
  std::mt19937 random(41);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same on every run
  int asked_of_all = 0, with_a_plan = 0;
  for (int i = 0; i < 120; ++i) {
    const Asked asked = drawn(random);
    const Question q = question(asked);
    const Estimator estimator(q);
    const std::int64_t plans = estimator.space().count({});
    if (plans == 0 || plans > 150'000) continue;
    const EveryPlan every = every_plan(estimator);
    const std::string what = said(asked) + " " + std::to_string(i);
    const SearchResult found = search(estimator, {});
    expect_first(every, found, 4, what);
    EXPECT_EQ(found.census.considered, every.plans) << what;
    ++asked_of_all;
    if (found.best) ++with_a_plan;
  }
  EXPECT_TRUE(asked_of_all >= 30 && with_a_plan >= 15) << asked_of_all << " asked, " << with_a_plan << " fit";
}

TEST(Search, TheBestOfSeveralSchedulesIsTheBestOfEach) {
  for (const Asked& asked : kAsked) {
    if (asked.layers == 0) continue;
    Question q = question(asked);
    for (const std::vector<Schedule>& schedules :
         {std::vector{Schedule::k1F1B, Schedule::kZbV}, std::vector{Schedule::kZbH1, Schedule::kGpipe},
          std::vector<Schedule>{kSchedules.begin(), kSchedules.end()}}) {
      q.framework.engine.schedules = schedules;
      const Estimator estimator(q);
      std::optional<Estimate> best;
      std::int64_t plans = 0;
      for (const Schedule schedule : schedules) {
        FixedAxes fixed;
        fixed.schedule = schedule;
        const EveryPlan every = every_plan(estimator, fixed);
        plans += every.plans;
        if (!every.best.empty() && (!best || better(every.best.front(), *best))) best = every.best.front();
      }
      const SearchResult found = search(estimator, {});
      EXPECT_EQ(found.census.considered, plans) << said(asked);
      ASSERT_EQ(found.best.has_value(), best.has_value()) << said(asked);
      if (best) {
        EXPECT_EQ(canonical(found.best->plan), canonical(best->plan)) << said(asked);
      }
    }
  }
}

/// Bounds on the stage of ZeRO and on the ranks that it shards over.
std::vector<FixedAxes> state_bounds() {
  std::vector<FixedAxes> all(4);
  all[0].bounds_of(Degree::kZero) = {1, 2};
  all[1].bounds_of(Degree::kShardGroup).most = 4;
  all[2].bounds_of(Degree::kZero).least = 2;
  all[2].bounds_of(Degree::kShardGroup) = {2, 8};
  all[3].bounds_of(Degree::kZero).most = 0;
  return all;
}

TEST(Search, FindsTheBestPlanWithinBounds) {
  for (const std::size_t i : {0U, 4U, 9U, 13U}) {
    const Question q = question(kAsked[i]);
    const Estimator estimator(q);
    for (const FixedAxes& fixed : state_bounds()) {
      const EveryPlan every = every_plan(estimator, fixed);
      const SearchResult found = search(estimator, fixed, SearchOptions{.runners_up = 3});
      expect_first(every, found, 4, said(kAsked[i]));
      EXPECT_EQ(found.census.considered, every.plans) << said(kAsked[i]);
    }
  }
}

TEST(Search, IsTheSameOnAnyNumberOfThreads) {
  for (const Asked& asked : kAsked) {
    const Question q = question(asked);
    const Estimator estimator(q);
    const SearchResult one = search(estimator, {}, SearchOptions{.threads = 1});
    for (const unsigned threads : {2U, 3U, 8U}) {
      const SearchResult several = search(estimator, {}, SearchOptions{.threads = threads});
      ASSERT_EQ(several.best.has_value(), one.best.has_value());
      if (one.best) {
        EXPECT_EQ(several.best->plan, one.best->plan) << said(asked);
        EXPECT_EQ(several.best->step, one.best->step) << said(asked);
      }
      ASSERT_EQ(several.runners_up.size(), one.runners_up.size());
      for (std::size_t i = 0; i < one.runners_up.size(); ++i)
        EXPECT_EQ(several.runners_up[i].plan, one.runners_up[i].plan) << said(asked);
      EXPECT_EQ(several.census.slower, one.census.slower) << said(asked);
      EXPECT_EQ(several.census.larger, one.census.larger) << said(asked);
      EXPECT_EQ(several.census.alike, one.census.alike) << said(asked);
      EXPECT_EQ(several.census.rejected, one.census.rejected) << said(asked);
      ASSERT_EQ(several.census.nearest_miss.has_value(), one.census.nearest_miss.has_value());
      if (one.census.nearest_miss) {
        EXPECT_EQ(several.census.nearest_miss->plan, one.census.nearest_miss->plan) << said(asked);
      }
    }
  }
}

TEST(Search, StopsWhenItIsTold) {
  const Question q = question(kAsked[1]);
  const Estimator estimator(q);
  SearchWatch watch;
  watch.stop = true;
  const SearchResult stopped = search(estimator, {}, SearchOptions{.watch = &watch});
  EXPECT_TRUE(stopped.stopped);
  EXPECT_FALSE(stopped.best);
  SearchWatch seen;
  const SearchResult whole = search(estimator, {}, SearchOptions{.watch = &seen});
  EXPECT_FALSE(whole.stopped);
  EXPECT_GT(seen.searched.load(), 0);
  EXPECT_LE(seen.searched.load(), seen.layouts.load());
}

TEST(Search, NamesTheNearestMissOfEveryPlan) {
  for (const Asked& asked : {Asked{"llama3-70b", "h100-sxm", "8", "8192", "16", "generic"},
                             Asked{"gpt3-175b", "a100-40gb-sxm", "32", "2048", "32", "megatron"},
                             Asked{"gpt3-175b", "a100-40gb-sxm", "2", "2048", "4", "megatron", 8}}) {
    const Question q = question(asked);
    const Estimator estimator(q);
    PlanEvaluator judge(estimator);
    std::optional<Bytes<>> least;
    estimator.space().for_each({}, [&](const Plan& plan) {
      int stage = 0;
      const Bytes<> total = judge.fullest_memory(plan, stage).total();
      if (!least || total < *least) least = total;
    });
    const Census census = search(estimator, {}).census;
    ASSERT_EQ(census.feasible, 0) << said(asked);
    ASSERT_TRUE(census.nearest_miss) << said(asked);
    EXPECT_EQ(census.nearest_miss->memory.total(), *least) << said(asked);
    EXPECT_GT(census.larger, 0) << said(asked);
  }
}

std::size_t at_state(const std::vector<Plan>& states, const Plan& plan) {
  const auto found = std::find_if(states.begin(), states.end(),
                                  [&](const Plan& state) { return with_state(plan, state) == plan; });
  return static_cast<std::size_t>(found - states.begin());
}

TEST(Search, NoBoundIsAboveAPlanItSpeaksFor) {
  for (const Asked& asked : kAsked) {
    const Question q = question(asked);
    const Estimator estimator(q);
    PlanEvaluator judge(estimator);
    constexpr double kRounding = 1 + 1e-9;
    for (const Plan& layout : estimator.space().layouts({})) {
      const LayoutPlans plans = estimator.space().plans_of(layout, {});
      judge.turn_to_layout(layout, plans.states);
      constexpr std::int64_t kOfEach = 400;
      const std::int64_t all = plans.count(), some = std::min(all, kOfEach);
      for (std::int64_t i = 0; i < some; ++i) {
        const Plan plan = plans.plan(i * all / some);
        const std::size_t state = at_state(plans.states, plan);
        ASSERT_LT(state, plans.states.size());
        int stage = 0;
        const double step = judge.time(plan).total().raw() * kRounding,
                     total = judge.fullest_memory(plan, stage).total().raw() * kRounding;
        ASSERT_LE(judge.least_step_of_micro_batch(plan).raw(), step) << canonical(plan);
        ASSERT_LE(judge.least_step_of_layers(plan).raw(), step) << canonical(plan);
        ASSERT_LE(judge.least_step(plan).raw(), step) << canonical(plan);
        ASSERT_LE(judge.least_step(plan, state).raw(), step) << canonical(plan);
        ASSERT_LE(judge.least_memory(plan).raw(), total) << canonical(plan);
        ASSERT_LE(judge.least_memory(plan, state).raw(), total) << canonical(plan);
        ASSERT_LE(judge.least_memory_of_part(plan).raw(), total) << canonical(plan);
        const bool in_part = plan.recompute.kind == Recompute::Kind::kBlock;
        if (!in_part) {
          ASSERT_LE(judge.least_memory_of_layers(plan).raw(), total) << canonical(plan);
          const std::int32_t group =
              plan.recompute.kind == Recompute::Kind::kUniform ? plan.recompute.layers : 1;
          ASSERT_LE(judge.least_memory_of_dealings(plan, group).raw(), total) << canonical(plan);
        }
        const double layers = judge.least_step_of_layers(plan).raw();
        const double of_dealings = judge.least_replicas_of_dealings(plan).raw();
        ASSERT_LE(judge.least_step_of_kernels(plan).raw(), judge.least_step_of_micro_batch(plan).raw());
        ASSERT_LE(layers + judge.least_replicas(plan).raw(), step) << canonical(plan);
        ASSERT_LE(of_dealings, judge.least_replicas(plan).raw() * kRounding) << canonical(plan);
        ASSERT_LE(layers * PlanEvaluator::least_turns(plan) + of_dealings, step) << canonical(plan);
        Plan more = plan;
        const auto all_layers = static_cast<std::int32_t>(q.model.layers.size());
        more.recompute = plans.layers_in_groups ? Recompute::uniform(all_layers) : Recompute::kFull;
        ASSERT_LE(judge.least_memory_of_dealings(more, 1).raw(), total) << canonical(plan);
        more.recompute = Recompute::kFull;
        if (plan.recompute.kind != Recompute::Kind::kUniform) {
          ASSERT_LE(judge.least_memory_of_dealings(more, 1).raw(), total) << canonical(plan);
        }
        if (!in_part) continue;
        // In a memory that the plan just fills, it may run no fewer layers again than it does.
        std::int64_t again = 0;
        for (std::int64_t c = 0; c < all_chunks(plan); ++c)
          again += recomputed_layers(plan, chunk_layers(all_layers, plan, c)).count();
        more.recompute = Recompute::kNone;
        ASSERT_LE(judge.least_layers_again(more, bytes(total)), static_cast<double>(again) + 1e-6)
            << canonical(plan);
        more.recompute = Recompute::block(plan.recompute.layers + 1);
        ASSERT_LE(judge.least_memory_of_part(more).raw(), total) << canonical(plan);
      }
    }
  }
}

// The space from its rules alone, axis by axis, without divisors and without the program's own legality.

struct Shape {
  int layers = 0, heads = 0, kv_heads = 0, width = 0, experts = 0, expert_width = 0, shared_width = 0;
  bool latent = false;
};

Shape shape_of(const Model& m) {
  Shape s;
  s.layers = static_cast<int>(m.layers.size());
  for (const Layer& layer : m.layers) {
    if (const auto* a = std::get_if<Attention>(&layer.mixer)) {
      s.heads = static_cast<int>(a->heads);
      s.kv_heads = static_cast<int>(a->kv_heads);
    }
    if (const auto* a = std::get_if<LatentAttention>(&layer.mixer)) {
      s.heads = static_cast<int>(a->heads);
      s.latent = true;
    }
    if (const auto* d = std::get_if<DenseMlp>(&layer.mlp)) s.width = static_cast<int>(d->width);
    if (const auto* e = std::get_if<MoeMlp>(&layer.mlp)) {
      s.experts = static_cast<int>(e->experts);
      s.expert_width = static_cast<int>(e->width);
      s.shared_width = static_cast<int>(e->shared_width);
    }
  }
  return s;
}

/// Ways to keep parts of the state and the activations on the host.
int offloads(const Question& q, int zero, int replicas) {
  if (!q.cluster.host_memory) return 1;
  const auto& host = q.framework.offload;
  int ways = 1;  // nothing
  if (host && !host->only_with_parameters) ++ways;
  if (host && host->parameters && (zero == 3 || replicas == 1)) ++ways;
  return ways * 2;  // each with the activations and without
}

/// The ranks that some axes number together with the first rank of the others, in increasing order.
std::vector<std::int64_t> ranks_of_axes(const Plan& p, const std::set<RankAxis>& axes) {
  std::vector<std::int64_t> ranks{0};
  std::int64_t inside = 1;
  for (const RankAxis axis : p.rank_order.axes()) {
    const std::size_t known = ranks.size();
    for (std::int64_t i = 1; i < degree_of(p, axis) && axes.count(axis) > 0; ++i)
      for (std::size_t k = 0; k < known; ++k) ranks.push_back(ranks[k] + i * inside);
    inside *= degree_of(p, axis);
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

/// How many of the first ranks are as far apart as the first two.
std::int64_t row(const std::vector<std::int64_t>& ranks) {
  std::size_t n = std::min<std::size_t>(2, ranks.size());
  while (n < ranks.size() && ranks[n] - ranks[n - 1] == ranks[1] - ranks[0]) ++n;
  return static_cast<std::int64_t>(n);
}

std::vector<std::int64_t> every_nth(const std::vector<std::int64_t>& ranks, std::size_t n) {
  std::vector<std::int64_t> found;
  for (std::size_t i = 0; i < ranks.size(); i += n) found.push_back(ranks[i]);
  return found;
}

bool fits_rows(const std::vector<std::int64_t>& ranks, std::int64_t group) {
  return row(ranks) % group == 0 || group % row(ranks) == 0;
}

/// Ways to share state over the replicas, and to keep it.
std::int64_t states(const Question& q, const FixedAxes& fixed, Plan p) {
  const std::set<RankAxis> stage{RankAxis::kTp, RankAxis::kCp, RankAxis::kDp};
  const auto dense = ranks_of_axes(p, {RankAxis::kCp, RankAxis::kDp});
  const auto same_experts = every_nth(ranks_of_axes(p, stage), static_cast<std::size_t>(p.ep * p.etp));
  const Framework& f = q.framework;
  const int replicas = p.dp * p.cp, expert_replicas = replicas * p.tp / (p.ep * p.etp);
  std::int64_t count = 0;
  for (int zero = 0; zero < 4; ++zero) {
    if (!f.zero[static_cast<std::size_t>(zero)].allowed || (zero > 0 && replicas == 1)) continue;
    if (!fixed.bounds_of(Degree::kZero).hold(zero)) continue;
    const DegreeBounds& ranks = fixed.bounds_of(Degree::kShardGroup);
    if (ranks.hold(zero == 0 ? 1 : replicas)) count += offloads(q, zero, replicas);
    if (zero == 0 || !f.engine.shard_groups || zero < f.engine.shard_groups_from) continue;
    p.zero_stage = static_cast<std::int8_t>(zero);
    for (p.shard_group = 2; p.shard_group < replicas; ++p.shard_group)
      if (const int experts = std::max(1, p.shard_group * p.tp / (p.ep * p.etp));
          ranks.hold(p.shard_group) && replicas % p.shard_group == 0 && expert_replicas % experts == 0 &&
          fits_rows(dense, p.shard_group) && fits_rows(same_experts, experts))
        count += offloads(q, zero, replicas);
  }
  return count;
}

/// Sets of a layer's parts that are run again, the empty one among them, and all of the layer.
std::int64_t recomputations(const Question& q, const Shape& m) {
  if (!q.whole_space || !q.framework.engine.recomputed_modules) return 3;
  int parts = 2;  // core attention, norms
  if (m.latent) ++parts;
  if (m.width > 0) ++parts;
  // Of the experts nothing, all, or any of the activation and the shared experts.
  const int experts = m.experts == 0 ? 1 : 1 + (m.shared_width > 0 ? 4 : 2);
  return (std::int64_t{1} << parts) * experts + 1;
}

/// Each way to deal the layers to chunks, as the layers of each.
std::set<std::vector<int>> dealings(const Question& q, const Shape& m, int chunks, bool even) {
  std::set<std::vector<int>> ways;
  if (even) {
    std::vector<int> chunk(static_cast<std::size_t>(chunks), m.layers / chunks);
    for (int i = 0; i < m.layers % chunks; ++i) ++chunk[static_cast<std::size_t>(i)];
    ways.insert(chunk);
  }
  if (!q.whole_space || !q.framework.engine.uneven_ends || chunks == 1) return ways;
  for (int first = 1; first < m.layers; ++first) {
    for (int last = 1; first + last <= m.layers; ++last) {
      const int rest = m.layers - first - last, between = chunks - 2;
      if (between == 0 ? rest != 0 : rest % between != 0 || rest == 0) continue;
      std::vector<int> chunk(static_cast<std::size_t>(chunks), between == 0 ? 0 : rest / between);
      chunk.front() = first;
      chunk.back() = last;
      ways.insert(chunk);
    }
  }
  return ways;
}

/// Micro-batches, schedules, interleavings, dealings and recomputations of a layout.
std::int64_t pipelines(const Question& q, const Shape& m, const Plan& p) {
  const int batch = static_cast<int>(q.workload.global_batch);
  const std::int64_t whole = recomputations(q, m);
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
        if (v > 1 && micro_batches % p.pp != 0) continue;
        const int chunks = schedule == Schedule::kZbV ? 2 * p.pp : p.pp * v;
        if (chunks > m.layers) continue;
        for (const auto& dealt : dealings(q, m, chunks, chunks == p.pp || m.layers % chunks == 0)) {
          const int largest = *std::max_element(dealt.begin(), dealt.end());
          const bool in_groups = q.whole_space && q.framework.engine.recomputed_groups;
          count += whole + (q.framework.engine.recomputed_layers ? largest - 1 : 0) +
                   (in_groups ? largest - 1 : 0);
        }
      }
    }
  }
  return count;
}

/// Plans of a split of the ranks, over the orders that number them differently.
std::int64_t with_orders(const Question& q, const FixedAxes& fixed, const Shape& m, Plan p) {
  const std::set<RankAxis> stage{RankAxis::kTp, RankAxis::kCp, RankAxis::kDp};
  if (!q.whole_space) return states(q, fixed, p) * pipelines(q, m, p);
  std::int64_t count = 0;
  std::set<std::vector<std::vector<std::int64_t>>> seen;
  for (const RankOrder order : q.framework.engine.rank_orders) {
    p.rank_order = order;
    std::vector<std::vector<std::int64_t>> groups;
    for (const RankAxis axis : {RankAxis::kTp, RankAxis::kCp, RankAxis::kDp, RankAxis::kPp})
      groups.push_back(ranks_of_axes(p, {axis}));
    if (!seen.insert(groups).second) continue;
    const int experts = p.ep * p.etp;
    const bool pipeline_inside = p.pp > 1 && order.axes().back() != RankAxis::kPp;
    if (q.framework.engine.rank_orders_same_replicas && pipeline_inside &&
        (m.experts > 0 ? experts != p.tp * p.cp : p.cp > 1))
      continue;
    if (!order.usual() && experts > 1 && row(ranks_of_axes(p, stage)) % experts != 0) continue;
    if (!order.usual() && p.etp > 1 && groups.front()[1] != 1) continue;
    count += states(q, fixed, p) * pipelines(q, m, p);
  }
  return count;
}

/// Plans of a split of the ranks, over all ways to divide the experts.
std::int64_t with_experts(const Question& q, const FixedAxes& fixed, const Shape& m, Plan p) {
  std::int64_t count = 0;
  for (p.ep = 1; p.ep <= std::max(1, m.experts); ++p.ep) {
    if (m.experts > 0 && m.experts % p.ep != 0) continue;
    for (p.etp = 1; p.etp <= p.tp; ++p.etp) {
      if (p.etp != 1 && (p.etp != p.tp || m.experts == 0 || m.expert_width % p.etp != 0)) continue;
      if (p.dp * p.cp * p.tp % (p.ep * p.etp) != 0) continue;
      count += with_orders(q, fixed, m, p);
    }
  }
  return count;
}

std::int64_t enumerated(const Question& q, const FixedAxes& fixed = {}) {
  const Shape m = shape_of(q.model);
  const int gpus = static_cast<int>(q.cluster.gpus), sequence = static_cast<int>(q.workload.sequence);
  std::int64_t count = 0;
  Plan p;
  for (p.tp = 1; p.tp <= gpus; ++p.tp) {
    if (m.heads % p.tp != 0) continue;
    if (m.kv_heads > 0 && m.kv_heads % p.tp != 0 && p.tp % m.kv_heads != 0) continue;
    if (m.width > 0 && m.width % p.tp != 0) continue;
    if (m.shared_width > 0 && m.shared_width % p.tp != 0) continue;
    for (p.cp = 1; p.cp * p.tp <= gpus; ++p.cp) {
      if (p.cp > 1 && sequence % (2 * p.cp) != 0) continue;
      // With tensor parallelism the sequence is shared too, or not where that may be left.
      int ways = p.tp == 1 || sequence % (p.cp * p.tp) == 0 ? 1 : 0;
      if (p.tp > 1 && m.experts == 0 && q.whole_space && q.framework.engine.whole_sequences) ++ways;
      for (p.pp = 1; p.pp * p.cp * p.tp <= gpus && p.pp <= m.layers; ++p.pp) {
        if (gpus % (p.tp * p.cp * p.pp) != 0) continue;
        p.dp = gpus / (p.tp * p.cp * p.pp);
        count += ways * with_experts(q, fixed, m, p);
      }
    }
  }
  return count;
}

TEST(Search, CountsThePlansThatTheRulesAllow) {
  for (const Asked& asked : kAsked) {
    const Question q = question(asked);
    const Estimator estimator(q);
    EXPECT_EQ(estimator.space().count({}), enumerated(q)) << said(asked);
    for (const FixedAxes& fixed : state_bounds())
      EXPECT_EQ(estimator.space().count(fixed), enumerated(q, fixed)) << said(asked);
  }
}

}  // namespace
}  // namespace shardplan
