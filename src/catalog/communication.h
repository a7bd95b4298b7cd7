// A question about one collective: which, how large, over which links, and under how much compute it may
// hide.
//
//   CommQuestion q;   // all-reduce of 7 B bf16 gradients over 64 ranks, beside a 700 ms step
//   q.ranks = {ratio(64), ...};  q.parameters = {ratio(7e9), ...};  q.step = {milliseconds(700), ...};
//
// Put together and checked by import/comm_question.h, answered by estimate/comm.h. Not here: what a
// collective costs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/cluster.h"
#include "catalog/risk.h"

namespace shardplan {

enum class Collective { kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBroadcast, kSendRecv };
inline constexpr int kCollectiveCount = 6;
/// "all-reduce".
const char* name(Collective collective);
std::optional<Collective> collective_named(std::string_view text);

struct SizeRange {
  Bytes<> low = bytes(8), high = gibibytes(16);
};

/// Groups that send between nodes at the same time, and the cards of a node that they share.
struct CardSharing {
  std::int64_t gpus = 1;    // of a node
  std::int64_t cards = 1;   // of a node; no more than GPUs, as several of one GPU count as one
  std::int64_t groups = 1;  // with ranks in each node
  std::int64_t ranks = 1;   // of one group in a node
  std::size_t network = 0;  // the first tier that the cards lead to
  Source source;            // of the number of cards
  /// Ranks on the fullest card.
  std::int64_t sharers() const { return (groups * ranks + cards - 1) / cards; }
};

struct CommQuestion {
  Collective collective = Collective::kAllReduce;
  Sourced<Ratio<>> ranks;
  /// Of the whole vector; where `parameters` is there, they and their width give the size instead.
  Sourced<Bytes<>> size;
  std::optional<Sourced<Ratio<>>> parameters;
  Sourced<Bytes<>> bytes_per_parameter;
  /// The sizes of a sweep, which takes the place of one size.
  std::optional<SizeRange> sweep;
  /// The step whose backward pass it may hide under.
  std::optional<Sourced<Seconds<>>> step;
  std::int64_t stride = 1;  // GPUs from one rank to the next
  /// Where the ranks are on several nodes.
  std::optional<CardSharing> cards;
  /// Only its tiers count; the ranks fill them innermost first.
  Cluster cluster;
  /// Where the cluster's library is known: who launches the collective, what that adds, which ways are open.
  Launcher launcher = Launcher::kNcclTests;
  Sourced<Seconds<>> launch;
  LibraryScope scope;
  /// Share of the hidden time that is felt all the same.
  Sourced<Ratio<>> contention;
  const RiskFigures* risk = nullptr;  // of the catalog
  std::vector<std::string> assumed;
};

}  // namespace shardplan
