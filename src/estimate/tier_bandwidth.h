// The bandwidth that a group has on one tier of a cluster.
//
//   tier_bandwidth(question.cluster, 1)   // 45.75 GB/s of a network of 50 GB/s that is oversubscribed
//
// Not here: what an axis of parallelism needs of it (reason/axis_links.h).
#pragma once

#include "catalog/cluster.h"

namespace shardplan {

/// Per GPU and direction, oversubscription applied.
BytesPerSecond<> tier_bandwidth(const Cluster& cluster, std::size_t tier);

}  // namespace shardplan
