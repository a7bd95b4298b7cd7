// Clusters put together from catalog entries: a preset by name, or so many of a device with its usual node
// and network.
//
//   Result<Cluster> c = usual_cluster(catalog, device, 64, std::nullopt);
//   c->tiers     // {"node", 8, ...}, {"network", 64, ...}; one tier only when the GPUs fit in a node
//   c->assumed   // {"h100-sxm: its usual node of 8 and fabric ib-ndr-400"}
//
// The bandwidth of a tier is what large ring collectives reach: the achieved figure of a device's own link,
// line rate times efficiency of a network. Not here: flags (question.h), files (cluster_file.h).
#pragma once

#include <cstdint>
#include <optional>

#include "catalog/cluster.h"
#include "import/catalog.h"

namespace shardplan {

Source user_source(const std::string& where);
Source assumed_source(const std::string& what, const std::string& note);

Tier scale_up_tier(const std::string& name, std::int64_t size, const Device& device);
Tier fabric_tier(const std::string& name, std::int64_t size, const Fabric& fabric);
/// 2 GiB and 4 % of HBM, until someone says otherwise.
void set_assumed_reserve(Cluster& cluster);

/// `gpus` replaces the preset's own number.
Result<Cluster> preset_cluster(const Catalog& catalog, const ClusterPreset& preset,
                               std::optional<std::int64_t> gpus = {});
/// `node` is the number of GPUs that share the device's own link, where a person told it.
Result<Cluster> usual_cluster(const Catalog& catalog, const Device& device, std::int64_t gpus,
                              std::optional<std::int64_t> node);

}  // namespace shardplan
