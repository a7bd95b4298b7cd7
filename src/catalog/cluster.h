// A cluster: one kind of device, and the tiers that connect them, innermost first.
//
// Tier i groups `size` GPUs (cumulative: 8 in a node, 64 in the cluster). A group of ranks that fits inside a
// tier's size talks at that tier's bandwidth and latency; a larger one at the next tier's.
//
//   course-64: tiers { {"node", 8, 300 GB/s, 5 us}, {"network", 64, 50 GB/s, 15 us} }
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catalog/collective_tables.h"
#include "catalog/reliability.h"

namespace shardplan {

struct Tier {
  std::string name;                     // "node", "rack", "network"
  std::int64_t size = 0;                // GPUs inside one group of this tier
  Sourced<BytesPerSecond<>> bandwidth;  // per GPU and direction, what large ring collectives reach
  Sourced<Seconds<>> latency;           // of one ring step
  Sourced<Ratio<>> oversubscription{ratio(1),
                                    {}};  // bandwidth is divided by it when a group crosses this tier
  /// Of a network: how many GPUs share one of a node's cards, where that is known.
  std::optional<Sourced<Ratio<>>> gpus_per_nic{};
  bool own_link = false;  // the device's: NVLink, xGMI, ICI
};

struct Cluster {
  std::string name;
  Source source;  // of the sizes, where a catalog entry or a file gives them
  Device device;
  std::int64_t gpus = 0;
  std::vector<Tier> tiers;  // at least one; the last one's size is >= gpus
  /// What would join more GPUs than there are, the innermost first; nothing where that is not known.
  std::vector<Tier> beyond;
  Sourced<Bytes<>> reserve_fixed;  // context and communication buffers
  Sourced<Ratio<>> reserve_share;  // of HBM: fragmentation
  /// Of a node's host, what offloading may fill; none = not told, and a need is stated unchecked.
  std::optional<Sourced<Bytes<>>> host_memory;
  Reliability reliability;
  /// How the collectives of a known device and network run; nothing for links by hand, where all that is
  /// known of a link is its bandwidth and latency.
  std::shared_ptr<const CollectiveSystem> collectives;
  /// The shape of a slice, where the innermost tier is one: a torus, over which collectives run axis by axis.
  std::optional<Torus> torus;
  /// Choices made for the person: "h100-sxm: usual node of 8, ib-ndr-400".
  std::vector<std::string> assumed;

  Bytes<> reserve() const { return reserve_fixed.value + reserve_share.value * device.memory_reported.value; }
  Bytes<> usable() const { return device.memory_reported.value - reserve(); }
};

/// Index of the innermost tier whose size holds `span` consecutive GPUs.
std::size_t tier_of(const Cluster& cluster, std::int64_t span);

/// Keeps the tiers that some group of ranks can need, the others are beyond; the outermost one, where it has
/// no size, is as large as the GPUs are many. Not its shape: fit_torus.
void fit_tiers(Cluster& cluster);

/// Another number of the same GPUs, joined by what is beyond the tiers there are; where nothing is known of
/// that, or it is not large enough, the outermost tier grows.
void set_gpus(Cluster& cluster, std::int64_t gpus);

/// Gives the innermost tier its shape, where it is a torus: the told one if it still has as many chips, else
/// the most cubic. To be called whenever `gpus` or the tiers have changed.
void fit_torus(Cluster& cluster);

}  // namespace shardplan
