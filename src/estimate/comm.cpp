#include "estimate/comm.h"

#include <algorithm>

#include "cost/rails.h"

namespace shardplan {
namespace {

constexpr std::int64_t kPair = 2;

std::int64_t rank_total(const CommQuestion& q) {
  return q.collective == Collective::kSendRecv ? kPair : static_cast<std::int64_t>(q.ranks.value.raw());
}

template <class N>
Bytes<N> message(const CommQuestion& q) {
  if (!q.parameters) return leaf<N>("message size", q.size.value, q.size.source);
  const auto parameters = leaf<N>("parameters", q.parameters->value, q.parameters->source);
  const auto width =
      leaf<N>("bytes of one gradient", q.bytes_per_parameter.value, q.bytes_per_parameter.source);
  return call<GradientMessage>(GradientMessage::In<N>{parameters, width});
}

CommAlgorithm flat_algorithm(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
    case Collective::kAllGather:
    case Collective::kReduceScatter:
      return CommAlgorithm::kRing;
    case Collective::kAllToAll:
      return CommAlgorithm::kPairwise;
    case Collective::kBroadcast:
    case Collective::kSendRecv:
      return CommAlgorithm::kChain;
  }
  return CommAlgorithm::kNone;
}

/// All ranks in one ring, pairwise exchange or chain, at the pace of the slowest link it crosses.
template <class N>
CommWay<N> flat_way(const CommQuestion& q, const Bytes<N>& size, const std::vector<Link<N>>& links,
                    const TierShares& shares) {
  const std::int64_t count = rank_total(q);
  const Source& told = q.ranks.source;
  const auto [link, tier] = ring_pace<N>(links, shares);
  const RingIn<N> in{size, leaf<N>("ranks", static_cast<double>(count), told), link.bandwidth, link.latency};
  CommWay<N> way;
  way.algorithm = flat_algorithm(q.collective);
  way.cost = ring_cost<N>(q.collective, in);
  way.parts.push_back({q.cluster.tiers[tier].name, count, size, link, way.cost, {}});
  return way;
}

template <class N>
CommWay<N> tiered_way(const CommQuestion& q, const Bytes<N>& size, const std::vector<Link<N>>& links,
                      const TierShares& shares) {
  CommWay<N> way;
  way.algorithm = CommAlgorithm::kTierByTier;
  const auto add = [&](std::size_t tier, const Bytes<N>& bytes, const CollectiveCost<N>& part) {
    way.parts.push_back({q.cluster.tiers[tier].name, shares.ranks[tier], bytes, links[tier], part, {}});
    way.cost.latency_term += part.latency_term;
    way.cost.bandwidth_term += part.bandwidth_term;
  };
  if (q.collective == Collective::kAllToAll) {
    visit_peers<N>(size, links, shares, rank_total(q), add);
  } else {
    visit_tiers<N>(size, links, shares, [&](std::size_t tier, const RingIn<N>& in) {
      add(tier, in.size, ring_cost<N>(q.collective, in));
    });
  }
  return way;
}

/// Every algorithm of the cluster's library under every protocol: the one it picks, then the fastest first.
template <class N>
std::vector<CommWay<N>> library_list(const CommQuestion& q, const Bytes<N>& size,
                                     const std::vector<Link<N>>& links, const Group& group) {
  const LibraryWays<N> costs =
      library_ways<N>(q.collective, size, links, q.cluster, group, q.launch, q.scope);
  const std::size_t outermost = members(q.cluster, group).outermost;
  std::vector<CommWay<N>> ways;
  for (std::size_t i = 0; i < costs.count; ++i) {
    const LibraryWay<N>& cost = costs.ways[(costs.picked + i) % costs.count];
    CommWay<N> way;
    way.algorithm = cost.algorithm;
    way.protocol = cost.protocol;
    way.cost = cost.cost;
    way.parts.push_back({q.cluster.tiers[outermost].name, group.count, size, links[outermost], way.cost, {}});
    ways.push_back(std::move(way));
  }
  if (ways.empty()) ways.emplace_back();
  std::stable_sort(ways.begin() + 1, ways.end(),
                   [](const CommWay<N>& a, const CommWay<N>& b) { return a.time() < b.time(); });
  return ways;
}

/// Axis by axis inside a slice, and over the network between slices.
template <class N>
CommWay<N> torus_way(const CommQuestion& q, const Bytes<N>& size, const std::vector<Link<N>>& links,
                     const Group& group) {
  const TierShares shares = members(q.cluster, group);
  const Torus& torus = *q.cluster.torus;
  CommWay<N> way;
  visit_torus<N>(
      q.collective, size, links, q.cluster, group, shares,
      [&](std::size_t tier, const Bytes<N>& bytes, const CollectiveCost<N>& part) {
        CommPart<N> carried{q.cluster.tiers[tier].name, shares.ranks[tier], bytes, links[tier], part, {}};
        if (tier == 0) {
          carried.layout = torus_layout(torus, {group.stride, shares.ranks[0]});
          carried.link.bandwidth = torus_path<N>(torus, *carried.layout, links[0].bandwidth).into_chip;
        }
        way.parts.push_back(std::move(carried));
        way.cost.latency_term += part.latency_term;
        way.cost.bandwidth_term += part.bandwidth_term;
      });
  const bool inside = way.parts.front().layout.has_value();
  way.algorithm = way.parts.size() > 1 ? CommAlgorithm::kTierByTier
                  : inside             ? CommAlgorithm::kTorus
                                       : flat_algorithm(q.collective);
  return way;
}

/// Two ranks of one torus that are as far apart as can be send over all its ports.
Group group_of(const CommQuestion& q) {
  if (q.collective != Collective::kSendRecv) return {q.stride, rank_total(q)};
  if (q.cluster.torus && q.cluster.tiers.size() == 1) return {1, q.cluster.torus->chips()};
  // They may sit anywhere: the outermost link is what they can be sure of.
  return {(q.cluster.gpus + 1) / kPair, kPair};
}

/// The links, those between nodes as far as the group has them.
template <class N>
std::vector<Link<N>> shared_links(const CommQuestion& q, CommCost<N>& cost) {
  std::vector<Link<N>> links = cluster_links<N>(q.cluster);
  if (!q.cards) return links;
  const CardSharing& cards = *q.cards;
  const auto count = [&](const char* what, std::int64_t v) {
    return leaf<N>(what, static_cast<double>(v), cards.source);
  };
  for (std::size_t i = cards.network; i < links.size(); ++i) {
    links[i].bandwidth = call<RailShare>(typename RailShare::In<N>{
        links[i].bandwidth, count("GPUs of a node", cards.gpus),
        count("network cards of a node", cards.cards),
        leaf<N>("ranks that send through one card", static_cast<double>(cards.sharers()),
                "groups at once and where their ranks sit")});
  }
  cost.card_share = links[cards.network].bandwidth;
  return links;
}

/// The way that needs no thought about tiers.
const CommWay<>& flat_of(const CommCost<>& cost) {
  const auto flat = std::find_if(cost.ways.begin(), cost.ways.end(), [](const CommWay<>& way) {
    return way.algorithm == CommAlgorithm::kRing || way.algorithm == CommAlgorithm::kPairwise ||
           way.algorithm == CommAlgorithm::kChain;
  });
  return flat == cost.ways.end() ? cost.best() : *flat;
}

bool has_tiered_way(Collective collective) {
  return collective != Collective::kBroadcast && collective != Collective::kSendRecv;
}

/// The bandwidth of a tier at which a way fits under the window, with its latency or as if it had
/// none.
template <class N>
std::optional<BytesPerSecond<N>> required(const CommPart<N>& part, const Seconds<N>& others,
                                          const Seconds<N>& window) {
  if (!(others < window)) return std::nullopt;
  return call<RequiredBandwidth>(
      RequiredBandwidth::In<N>{part.link.bandwidth, part.cost.bandwidth_term, others, window});
}

template <class N>
void judge(const CommQuestion& q, const Seconds<N>& window, CommWay<N>& way) {
  const auto contention = leaf<N>("contention", q.contention.value, q.contention.source);
  way.exposed = call<ExposedTime>(ExposedTime::In<N>{way.time(), window, contention});
  way.slack = window - min(way.time(), window);
  if (way.parts.empty()) return;
  Seconds<N> inner{};
  for (std::size_t i = 0; i + 1 < way.parts.size(); ++i) inner += way.parts[i].cost.bandwidth_term;
  const bool one = way.parts.size() == 1;
  const Seconds<N> others =
      one ? way.cost.latency_term
          : named("all but the bandwidth term of the outermost tier", way.cost.latency_term + inner);
  way.rest = others;
  way.required = required(way.parts.back(), others, window);
  const Seconds<N> none = one ? leaf<N>("no latency", seconds(0), "left out on purpose") : inner;
  way.required_without_latency = required(way.parts.back(), none, window);
}

}  // namespace

template <class N>
CommCost<N> comm_cost(const CommQuestion& q) {
  CommCost<N> cost;
  cost.size = message<N>(q);
  if (q.step) {
    cost.window =
        call<BackwardWindow>(BackwardWindow::In<N>{leaf<N>("time of a step", q.step->value, q.step->source)});
  }
  const std::int64_t count = rank_total(q);
  if (count <= 1) {
    cost.ways.emplace_back();
  } else {
    const std::vector<Link<N>> links = shared_links<N>(q, cost);
    const Group group = group_of(q);
    if (q.cluster.torus) {
      cost.ways.push_back(torus_way<N>(q, cost.size, links, group));
    } else if (q.cluster.collectives) {
      cost.ways = library_list<N>(q, cost.size, links, group);
    } else {
      const TierShares shares = members(q.cluster, group);
      cost.ways.push_back(flat_way<N>(q, cost.size, links, shares));
      if (shares.outermost > 0 && has_tiered_way(q.collective)) {
        cost.ways.push_back(tiered_way<N>(q, cost.size, links, shares));
      }
    }
  }
  for (std::size_t i = 0; i < cost.ways.size(); ++i) {
    if (cost.window) judge<N>(q, *cost.window, cost.ways[i]);
    if (!q.cluster.collectives && cost.ways[i].time() < cost.best().time()) cost.best_way = i;
  }
  return cost;
}

template CommCost<double> comm_cost<double>(const CommQuestion&);
template CommCost<Traced> comm_cost<Traced>(const CommQuestion&);

CommAnswer answer_comm(const CommQuestion& question) {
  CommAnswer answer;
  answer.question = question;
  answer.cost = comm_cost<double>(question);
  const CommWay<>& best = answer.cost.best();
  const CommWay<>& flat = flat_of(answer.cost);
  if (best.time() > seconds(0)) {
    answer.latency_share = best.cost.latency_term / best.time();
    answer.flat_over_best = flat.time() / best.time();
  }
  answer.saved = flat.time() - best.time();
  if (question.cluster.collectives && best.time() > seconds(0)) answer.switches = comm_switches(question, {});
  if (best.exposed) answer.exposed = *best.exposed > seconds(0);
  return answer;
}

}  // namespace shardplan
