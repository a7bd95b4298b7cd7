// The constants that a collective library chooses by, and those of the links of one generation of devices.
//
//   catalog.libraries[0].base_tree[0]        // NCCL: 6.8 us before the first hop of a tree, protocol LL
//   cluster.collectives->generation.channels // 12 rings inside a node of H100
//
// Data of catalog/collectives.json. Not here: what follows from them (cost/library_collectives.h).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/device.h"

namespace shardplan {

enum class CommAlgorithm {
  kNone,
  kRing,
  kTierByTier,
  kPairwise,
  kChain,
  kTree,
  kNvls,
  kNvlsTree,
  kDirect,
  kOneShot,
  kTwoShot,
  kMultimem,
  kPat,
  kTorus
};
inline constexpr int kCommAlgorithmCount = 14;
/// "ring", "tier-by-tier", "nvls-tree", ...; "none" for a single rank.
const char* name(CommAlgorithm algorithm);

/// How the data is framed: flags beside every word (LL), every line (LL128), or separate (Simple).
enum class Protocol { kLL, kLL128, kSimple };
inline constexpr std::size_t kProtocolCount = 3;
const char* name(Protocol protocol);

/// Who launches the collective, and so what is added to the library's own time.
enum class Launcher { kNcclTests, kTorch, kCudaGraph, kDeviceKernel };
inline constexpr std::size_t kLauncherCount = 4;
const char* name(Launcher launcher);
std::optional<Launcher> launcher_named(std::string_view text);

/// Which ways are open: the library's, kernels that read peers' memory directly, or both.
struct LibraryScope {
  bool library = true, kernels = false;
};

template <class Q>
using ByProtocol = std::array<Q, kProtocolCount>;
/// On one node, on two, on more.
template <class Q>
using BySpan = std::array<Q, 3>;

struct HopLatencies {
  ByProtocol<Seconds<>> tree{}, ring{};
  Seconds<> nvls, nvls_tree;
};

struct CollectiveLibrary {
  std::string name, vendor;
  Source source;  // of every constant here
  ByProtocol<Seconds<>> base_tree{}, base_ring{};
  HopLatencies scale_up, pcie, network;
  /// How often a hop pays the latency of the network card: twice where what was received is flushed.
  ByProtocol<Ratio<>> network_trips{};
  /// Least time of a step inside a node while the ring also crosses the network.
  ByProtocol<Seconds<>> ring_overhead{};
  Ratio<> ring_extra_nodes;     // steps over the network beyond one for each other node
  Ratio<> ring_simple_stretch;  // of the latency, when the all-reduce crosses nodes
  ByProtocol<Ratio<>> ring_share{};
  Ratio<> tree_share, tree_share_ll;
  BySpan<Ratio<>> tree_share_ll128{};
  BySpan<BytesPerSecond<>> network_ll_most{};
  /// By log2(bytes / 64); 1 beyond the end.
  ByProtocol<std::vector<double>> tree_correction;
  /// Parallel aggregated trees (PAT): gathers and reduce-scatters of groups with one rank in a node.
  struct AggregatedTrees {
    Seconds<> base, network, rank;  // before the first hop, of a hop, of each rank
    Ratio<> hops_at_once;           // hops that overlap
    Ratio<> share;                  // of the bus bandwidth
  };
  std::optional<AggregatedTrees> pat;
};

struct LinkGeneration {
  /// The most per channel, by number of nodes.
  struct ChannelCaps {
    BySpan<BytesPerSecond<>> ring_ll128{}, tree_ll128{}, tree_simple{}, nvls_tree{};
  };
  /// Reduction inside the switch (NVLS): a channel costs every link its speed and the head's twice.
  struct SwitchReduction {
    Ratio<> efficiency;
    BytesPerSecond<> link;
    std::vector<BytesPerSecond<>> speeds;  // that a channel may have, fastest first
  };
  /// Kernels that read peers' memory: latency, and bytes/s that one GPU reads.
  struct Kernels {
    Seconds<> one_shot, two_shot;
    BytesPerSecond<> bandwidth, multimem;
  };
  std::vector<std::string> architectures;
  Ratio<> channels;  // rings inside a node
  BySpan<BytesPerSecond<>> ll_most{};
  ChannelCaps channel;
  Sourced<Seconds<>> hop_extra;     // beyond the library's table, of each hop inside a node
  Sourced<Ratio<>> pipeline_fill;   // of sqrt(latency x transfer), for reduction in the switch and direct
  Sourced<Seconds<>> peer_latency;  // of all-to-all and send-recv
  std::optional<Sourced<Seconds<>>> direct_latency;  // where every pair has a link and exchanges at once
  std::optional<SwitchReduction> switch_reduction;
  std::optional<Kernels> kernels;
};

/// What the collectives of one cluster follow; shared by its copies.
struct CollectiveSystem {
  CollectiveLibrary library;
  LinkGeneration generation;
  ScaleUpKind link = ScaleUpKind::kSwitch;
  Ratio<> domain;  // GPUs that the link joins
  /// The first tier that is a network; the number of tiers where there is none.
  std::size_t network_tier = 0;
};

/// Factors on the constants of a system, fitted to what one machine measured.
struct Calibration {
  Seconds<> launch;  // added to every collective
  Ratio<> hop = ratio(1), bandwidth = ratio(1), fill = ratio(1);
};

}  // namespace shardplan
