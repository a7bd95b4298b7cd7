// catalog/collectives.json as CollectiveTables, and what a cluster follows of them.
#pragma once

#include <memory>

#include "import/catalog.h"
#include "import/sourced_json.h"

namespace shardplan {

void read_collective_tables(const JsonNode& root, const Sources& sources, CollectiveTables& tables);

/// Nothing where no library is known for the device's vendor or no generation for its architecture.
std::shared_ptr<const CollectiveSystem> collective_system(const Catalog& catalog, const Device& device,
                                                          std::size_t network_tier);

/// The system where a hop inside a node takes so much longer, or less long: each of a ring or a tree pays it;
/// what exchanges at once, in the switch or in a kernel, pays it once.
std::shared_ptr<const CollectiveSystem> with_longer_hops(CollectiveSystem system, Seconds<> longer);

/// The cluster with the constants of its links and library multiplied.
Cluster calibrated(const Cluster& cluster, const Calibration& calibration);

}  // namespace shardplan
