// What one collective costs on its links, each way it may run, and whether it hides under the backward pass.
//
//   CommAnswer a = answer_comm(question);
//   a.cost.best().cost.total()      // 553.14 ms: 64 ranks, 14 GB, 50 GB/s, 15 us
//   *a.cost.best().exposed          // 86.47 ms of it do not fit under two thirds of a 700 ms step
//   auto why = comm_cost<Traced>(question);   // the same arithmetic with its explanation
//
// Not here: the collectives of a whole training step (estimate/step_time.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "catalog/communication.h"
#include "cost/library_collectives.h"

namespace shardplan {

/// What one tier of the cluster carries.
template <class N = double>
struct CommPart {
  std::string tier;
  std::int64_t ranks = 1;
  Bytes<N> size;
  Link<N> link;
  CollectiveCost<N> cost;
  std::optional<TorusLayout> layout;  // of the group, where the tier is a torus; link is then into a chip
};

/// One way to run the collective.
template <class N = double>
struct CommWay {
  CommAlgorithm algorithm = CommAlgorithm::kNone;
  std::optional<Protocol> protocol;  // of a library's algorithm
  std::vector<CommPart<N>> parts;    // innermost tier first
  CollectiveCost<N> cost;
  // Where there is a window:
  std::optional<Seconds<N>> exposed;
  std::optional<Seconds<N>> slack;  // of the window
  /// To hide: of the outermost tier, or of every link that a flat way crosses; nothing where no bandwidth is
  /// enough, as `rest`, all but the term that it would shorten, exceeds the window.
  std::optional<BytesPerSecond<N>> required;
  Seconds<N> rest{};
  std::optional<BytesPerSecond<N>> required_without_latency;

  Seconds<N> time() const { return cost.total(); }
};

template <class N = double>
struct CommCost {
  Bytes<N> size;
  std::optional<Seconds<N>> window;
  std::optional<BytesPerSecond<N>> card_share;  // of a rank between nodes, where they share network cards
  /// Of a library: the one it picks, then the fastest first. Of links by hand: the flat one first.
  std::vector<CommWay<N>> ways;
  std::size_t best_way = 0;
  /// What a library picks; of links by hand, the fastest.
  const CommWay<N>& best() const { return ways[best_way]; }
};

template <class N>
CommCost<N> comm_cost(const CommQuestion& question);

/// The smallest size at which a way is taken, found to a thousandth.
struct CommSwitch {
  Bytes<> from;
  CommAlgorithm algorithm = CommAlgorithm::kNone;
  std::optional<Protocol> protocol;
};

/// Where another way takes over (comm_sweep.cpp).
std::vector<CommSwitch> comm_switches(const CommQuestion& question, const SizeRange& range);

struct CommAnswer {
  CommQuestion question;
  CommCost<> cost;
  Ratio<> latency_share;  // of the best way's time
  /// How many times as long the flat way (a library's fastest ring) takes, and the difference; 1 and 0 where
  /// it is the best or the only one.
  Ratio<> flat_over_best = ratio(1);
  Seconds<> saved;
  std::vector<CommSwitch> switches;  // of a library's ways
  /// Nothing where no window was given.
  std::optional<bool> exposed;
};

CommAnswer answer_comm(const CommQuestion& question);

}  // namespace shardplan
