// The space of plans is the one that its rules allow: counted from the rules alone, axis by axis, without
// divisors and without the program's own legality.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

#include "asked_questions.h"
#include "graph/space.h"

namespace shardplan {
namespace {

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
std::set<std::vector<int>> all_dealings(const Shape& m, int chunks, bool even, bool uneven) {
  std::set<std::vector<int>> ways;
  if (even) {
    std::vector<int> chunk(static_cast<std::size_t>(chunks), m.layers / chunks);
    for (int i = 0; i < m.layers % chunks; ++i) ++chunk[static_cast<std::size_t>(i)];
    ways.insert(chunk);
  }
  if (!uneven || chunks == 1) return ways;
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

/// Those that agree with what is told of the ends; dealt evenly, an end is as the others.
std::set<std::vector<int>> dealings(const Question& q, const FixedAxes& fixed, const Shape& m, int chunks,
                                    bool even) {
  const DegreeBounds &first = fixed.bounds_of(Degree::kFirstLayers),
                     &last = fixed.bounds_of(Degree::kLastLayers);
  const bool told = fixed.first_layers.value_or(0) > 0 || fixed.last_layers.value_or(0) > 0;
  const bool bounded = !(first == DegreeBounds{}) || !(last == DegreeBounds{});
  const bool uneven = told || (q.framework.engine.uneven_ends && (q.whole_space || bounded));
  std::set<std::vector<int>> ways = all_dealings(m, chunks, even, uneven);
  const auto evenly = all_dealings(m, chunks, even, false);
  const auto out = [&](const std::vector<int>& way) {
    const auto is_out = [&](const std::optional<std::int32_t>& one, const DegreeBounds& bounds, int layers) {
      const bool as_others = evenly.count(way) > 0 || (chunks > 2 && layers == way[1]);
      return !bounds.hold(layers) || (one && (*one == 0 ? !as_others : *one != layers));
    };
    return is_out(fixed.first_layers, first, way.front()) || is_out(fixed.last_layers, last, way.back());
  };
  for (auto way = ways.begin(); way != ways.end();) way = out(*way) ? ways.erase(way) : std::next(way);
  return ways;
}

/// Micro-batches, schedules, interleavings, dealings and recomputations of a layout.
std::int64_t pipelines(const Question& q, const FixedAxes& fixed, const Shape& m, const Plan& p) {
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
        for (const auto& dealt : dealings(q, fixed, m, chunks, chunks == p.pp || m.layers % chunks == 0)) {
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
  if (!q.whole_space) return states(q, fixed, p) * pipelines(q, fixed, m, p);
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
    count += states(q, fixed, p) * pipelines(q, fixed, m, p);
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

TEST(Space, CountsThePlansThatTheRulesAllow) {
  for (const Asked& asked : kAsked) {
    const Question q = question(asked);
    const Space space(q);
    EXPECT_EQ(space.count({}), enumerated(q)) << said(asked);
    for (const FixedAxes& fixed : some_bounds())
      EXPECT_EQ(space.count(fixed), enumerated(q, fixed)) << said(asked);
  }
}

}  // namespace
}  // namespace shardplan
