// A cluster that a person describes in a JSON file: any number of tiers, a device of the catalog or one's
// own. The form is in docs/reference/cluster-file.md.
//
//   Result<Cluster> c = read_cluster_file(R"({"device": "h100-sxm", "tiers": [
//       {"name": "node", "size": 8, "fabric": "scale_up"},
//       {"name": "network", "size": 64, "bandwidth": "400Gbit/s", "latency": "15us"}]})", "mine.json", c);
//   c->tiers[1].bandwidth.source.kind   // SourceKind::kUser
//   // "bandwith" instead: where "mine.json: tiers[1].bandwith", nearest "bandwidth"
//
// What its GPUs cost and draw is no part of a cluster: read_cluster_prices reads it from the same file. Not
// here: what a tier costs (cost/), clusters by name (cluster_build.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "catalog/cluster.h"
#include "catalog/objective.h"
#include "import/catalog.h"

namespace shardplan {

/// `gpus` replaces the file's own number.
Result<Cluster> read_cluster_file(std::string_view text, std::string_view where, const Catalog& catalog,
                                  std::optional<std::int64_t> gpus = {});

/// Of one GPU, where the file says it.
struct ClusterPrices {
  std::optional<Sourced<UsdPerSecond<>>> price;
  std::optional<Sourced<double>> watts;
};
/// Whatever else is in the file, right or wrong.
Result<ClusterPrices> read_cluster_prices(std::string_view text, std::string_view where);

}  // namespace shardplan
