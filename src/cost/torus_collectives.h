// Collectives over the torus of a TPU slice: rings and lines along its axes, all axes of the group at once.
//
// A chip has two links on each axis. What a gather takes is what comes into a chip over the links of the axes
// that its group spans: both where an axis closes to a ring, one of them at the end of a line. What an
// all-to-all takes is what crosses the middle of an axis. Each hop adds its latency. Slices are joined by the
// data-centre network, which carries the share that a slice's ranks have left.
//
//   visit_torus<double>(Collective::kAllGather, megabytes(34), links, cluster, {1, 4}, add);
//
// The book takes the larger of latency and bandwidth; here they are added, which is never less and shows
// both. Not here: where the ranks lie (graph/torus_layout.h), launches of a step (step_collectives.h).
#pragma once

#include <cstdint>
#include <vector>

#include "cost/collectives.h"
#include "graph/torus_layout.h"

namespace shardplan {

/// All-gather, reduce-scatter, and an all-reduce as both; also what is broadcast or sent over several ports.
struct TorusGatherBandwidth {
  static constexpr FormulaInfo info{
      "comm.torus.gather.bandwidth",
      "all-gather, reduce-scatter or all-reduce over the axes of a torus, bandwidth term",
      {"scaling-book", "part 3: V / (W n_axes); pop quiz 2 (no ring); an all-reduce costs two gathers"},
      "the vector is cut so that all axes are busy at once; a ring passes all of it, a line all but a share"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> size;
    Ratio<N> passed;
    Ratio<N> phases;
    BytesPerSecond<N> bandwidth;
  };
  static constexpr std::array<std::string_view, 4> symbols{"V", "f", "p", "W"};
  static constexpr std::array<std::string_view, 4> inputs{
      "message size, the whole vector", "share of it that passes the links of a chip",
      "phases: 2 of an all-reduce, else 1", "bandwidth into a chip, over all the links it may use"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return in.phases * in.passed * in.size / in.bandwidth;
  }
  static constexpr std::array examples{
      Example<TorusGatherBandwidth>{{bytes(2.0 * 1024 * 4096 / 4), ratio(1), ratio(1), gigabytes_per_s(90)},
                                    23e-6,
                                    "question 2.1, v4p 4x4x4: one ring of 9e10 B/s gathers 2BD/Y in 23 us",
                                    0.02},
      Example<TorusGatherBandwidth>{{bytes(2.0 * 1024 * 4096), ratio(1), ratio(1), gigabytes_per_s(180)},
                                    46e-6,
                                    "question 2.2: two rings gather 2BD in 46 us",
                                    0.02},
      Example<TorusGatherBandwidth>{{bytes(2.0 * 1024 * 4096), ratio(1), ratio(2), gigabytes_per_s(90)},
                                    190e-6,
                                    "question 2.3: one ring reduces 2BD in roughly 190 us",
                                    0.02},
      Example<TorusGatherBandwidth>{
          {bytes(2.0 * 2048 * 8192), ratio(0.75), ratio(1), gigabytes_per_s(45)},
          560e-6,
          "pop quiz 2, v5e: a line of four gathers 34 MB in three hops of 8.4 MB, 560 us",
          0.01},
      Example<TorusGatherBandwidth>{
          {bytes(2.0 * 8 * 128 * 8192), ratio(1), ratio(1), gigabytes_per_s(90)},
          188e-6,
          "part 2, question 5, v5e 4x4: 17 MB from corner to corner over two ports, 188 us",
          0.01}};
};

struct TorusExchangeBandwidth {
  static constexpr FormulaInfo info{
      "comm.torus.all_to_all.bandwidth",
      "all-to-all over one axis of a torus, bandwidth term",
      {"scaling-book", "part 3: a quarter of an all-gather on a ring; footnote: N^2/4 chunks of V/N^2"},
      "half of what the ranks of one half send crosses to the other, over both links of a ring or the one of "
      "a line; the slowest axis decides"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> size;
    Ratio<N> ranks;
    Ratio<N> links;
    BytesPerSecond<N> bandwidth;
  };
  static constexpr std::array<std::string_view, 4> symbols{"S", "n", "l", "w"};
  static constexpr std::array<std::string_view, 4> inputs{
      "what one rank sends in all", "ranks along the axis",
      "ways across its middle: 2 of a ring, 1 of a line", "bandwidth of a link, its share of one group"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    const Ratio<N> half = in.ranks / (2.0 * detail::one<N>());
    return half * in.size / (2.0 * in.links * in.bandwidth);
  }
  static constexpr std::array examples{
      Example<TorusExchangeBandwidth>{
          {bytes(2.0 * 1024 * 4096 / 4), ratio(4), ratio(2), gigabytes_per_s(45)},
          93.2e-6 / 4,
          "an array of 8.39 MB over a ring of four: a quarter of its gather's 93.2 us at 9e10 B/s",
          1e-3},
      Example<TorusExchangeBandwidth>{
          {megabytes(90), ratio(2), ratio(1), gigabytes_per_s(45)}, 1e-3, "two ranks swap halves of 90 MB"}};
};

struct TorusHops {
  static constexpr FormulaInfo info{
      "comm.torus.latency",
      "hops of a collective over a torus, latency term",
      {"scaling-book", "part 3: T_min sum |X_i| / 2; question 3; part 2, question 5"},
      "half the ring or the length of the line on each axis, one after the other; sends of other groups' "
      "chips in between are passed through"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> hops;
    Ratio<N> phases;
    Seconds<N> latency;
  };
  static constexpr std::array<std::string_view, 3> symbols{"h", "p", "a"};
  static constexpr std::array<std::string_view, 3> inputs{
      "hops to the farthest rank", "phases: 2 of an all-reduce, else 1", "latency of a hop"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return in.phases * in.hops * in.latency;
  }
  static constexpr std::array examples{
      Example<TorusHops>{{ratio(2), ratio(1), microseconds(1)}, 2e-6, "question 3: a ring of four, 2 us"},
      Example<TorusHops>{
          {ratio(6), ratio(1), microseconds(1)}, 6e-6, "part 2, question 5: corner to corner of a 4x4 mesh"}};
};

/// What the torus gives to a group, as formula inputs.
template <class N>
struct TorusPath {
  BytesPerSecond<N> into_chip{};  // over all the links of the group's axes
  Ratio<N> hops{};
};

namespace detail {

inline std::int64_t torus_hops(const TorusAxis& axis) {
  return axis.step * (axis.ring ? (axis.ranks + 1) / 2 : axis.ranks - 1);
}

template <class N>
BytesPerSecond<N> torus_link(const Torus& torus, const BytesPerSecond<N>& chip) {
  return named("bandwidth of a link",
               chip / leaf<N>("links of a chip", static_cast<double>(2 * torus.axes), "two on each axis"));
}

template <class N>
BytesPerSecond<N> torus_share(const TorusAxis& axis, const BytesPerSecond<N>& link) {
  return axis.step == 1 ? link
                        : link / leaf<N>("groups that share a link", static_cast<double>(axis.step),
                                         "placement of the group on the torus");
}

template <class N>
Ratio<N> torus_ways(const TorusAxis& axis) {
  return leaf<N>("links of the axis: 2 of a ring, 1 of a line", axis.ring ? 2.0 : 1.0,
                 "placement of the group on the torus");
}

}  // namespace detail

template <class N>
TorusPath<N> torus_path(const Torus& torus, const TorusLayout& layout, const BytesPerSecond<N>& chip) {
  const BytesPerSecond<N> link = detail::torus_link<N>(torus, chip);
  TorusPath<N> path;
  std::int64_t hops = 0;
  bool any = false;
  for (const TorusAxis& axis : layout) {
    if (axis.ranks <= 1) continue;
    const BytesPerSecond<N> way = detail::torus_ways<N>(axis) * detail::torus_share<N>(axis, link);
    path.into_chip = any ? path.into_chip + way : way;
    any = true;
    hops += detail::torus_hops(axis);
  }
  if (!any) path.into_chip = link;
  path.into_chip = named("bandwidth into a chip", path.into_chip);
  path.hops = leaf<N>("hops", static_cast<double>(hops), "placement of the group on the torus");
  return path;
}

/// Time of the slowest axis; `size` is what one rank sends, its own share included.
template <class N>
Seconds<N> torus_exchange(const Bytes<N>& size, const Torus& torus, const TorusLayout& layout,
                          const BytesPerSecond<N>& chip) {
  const BytesPerSecond<N> link = detail::torus_link<N>(torus, chip);
  Seconds<N> slowest{};
  bool any = false;
  for (const TorusAxis& axis : layout) {
    if (axis.ranks <= 1) continue;
    const Seconds<N> time = call<TorusExchangeBandwidth>(
        TorusExchangeBandwidth::In<N>{size,
                                      leaf<N>("ranks along the axis", static_cast<double>(axis.ranks),
                                              "placement of the group on the torus"),
                                      detail::torus_ways<N>(axis), detail::torus_share<N>(axis, link)});
    slowest = any ? max(slowest, time) : time;
    any = true;
  }
  return slowest;
}

/// What an all-to-all of the slice's ranks makes of the bytes that a rank sends to others.
template <class N>
BytesPerSecond<N> torus_exchange_bandwidth(const Torus& torus, const Group& inside,
                                           const BytesPerSecond<N>& chip) {
  if (inside.count <= 1) return chip;
  const Bytes<N> unit(N(1.0));
  const double n = static_cast<double>(inside.count);
  return unit * leaf<N>("share of the other ranks", (n - 1) / n, "placement of the group on the torus") /
         torus_exchange<N>(unit, torus, torus_layout(torus, inside), chip);
}

/// One collective of `ranks` ranks inside one slice. A send or a broadcast goes over all the ports it can.
template <class N>
CollectiveCost<N> torus_cost(Collective kind, const Bytes<N>& size, std::int64_t ranks, const Torus& torus,
                             const TorusLayout& layout, const BytesPerSecond<N>& chip,
                             const Seconds<N>& hop) {
  const TorusPath<N> path = torus_path<N>(torus, layout, chip);
  const Ratio<N> phases(N(kind == Collective::kAllReduce ? 2.0 : 1.0));
  CollectiveCost<N> cost;
  cost.latency_term = call<TorusHops>(TorusHops::In<N>{path.hops, phases, hop});
  if (kind == Collective::kAllToAll) {
    cost.bandwidth_term = torus_exchange<N>(size, torus, layout, chip);
    return cost;
  }
  const bool all = kind == Collective::kBroadcast || kind == Collective::kSendRecv || all_rings(layout);
  const double n = static_cast<double>(ranks);
  cost.bandwidth_term = call<TorusGatherBandwidth>(
      TorusGatherBandwidth::In<N>{size,
                                  leaf<N>("share that passes the links of a chip", all ? 1.0 : (n - 1) / n,
                                          "rings pass all, lines all but one rank's"),
                                  phases, path.into_chip});
  return cost;
}

}  // namespace shardplan
