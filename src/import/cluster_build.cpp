#include "import/cluster_build.h"

#include <algorithm>

#include "import/collective_tables.h"
#include "import/defaults.h"
#include "units/format.h"

namespace shardplan {
namespace {

std::string number_text(std::int64_t v) { return std::to_string(v); }

/// A product has the sources of both factors; of their kinds, the weaker one is told.
Source product_source(const Source& rate, const Source& share, const std::string& note) {
  const auto title = [](const Source& s) { return s.title.empty() ? s.id : s.title; };
  Source both = share;
  if (share.id == rate.id) {
    both.note = note;
    return both;
  }
  both.id = rate.id + " x " + share.id;
  both.title = title(rate) + " x " + title(share);
  both.ref = rate.ref + "; " + share.ref;
  both.date = std::max(rate.date, share.date);
  both.note = note;
  return both;
}

std::int64_t domain_of(const Device& device) {
  return static_cast<std::int64_t>(device.scale_up.domain_size.value.raw());
}

/// A card of the same architecture whose own link is PCIe: what its node reaches is what pairs of cards do
/// too.
const Device* pcie_sibling(const Catalog& catalog, const Device& device) {
  for (const Device& d : catalog.devices) {
    if (d.scale_up.kind == ScaleUpKind::kPcie && d.architecture == device.architecture) return &d;
  }
  return nullptr;
}

/// The tiers inside a node or a scale-up domain, and what was chosen for the person.
std::string add_inner_tiers(const Catalog& catalog, std::optional<std::int64_t> told, Cluster& cluster) {
  const Device& device = cluster.device;
  const std::int64_t domain = domain_of(device), node = device.usual_gpus_per_node;
  const bool torus = device.scale_up.torus.has_value();
  if (told && !(*told == node && domain > node)) {
    cluster.tiers.push_back(scale_up_tier(torus ? "slice" : "node", *told, device));
    cluster.tiers.back().bandwidth.source.note +=
        (torus ? "; slices of " : "; nodes of ") + number_text(*told) + " as told";
    return "";
  }
  if (domain > node) {
    cluster.tiers.push_back(scale_up_tier(torus ? "slice" : "domain", domain, device));
    if (torus) return "slices of up to " + number_text(domain) + " chips, hosts of " + number_text(node);
    return "its scale-up domain of " + number_text(domain) + " GPUs (boards of " + number_text(node) + ")";
  }
  if (domain == node) {
    cluster.tiers.push_back(scale_up_tier("node", node, device));
    return "its usual node of " + number_text(node);
  }
  cluster.tiers.push_back(scale_up_tier("bridge", domain, device));
  const Device* sibling = pcie_sibling(catalog, device);
  if (sibling == nullptr) return "its bridge of " + number_text(domain) + ", nothing else inside a node";
  cluster.tiers.push_back(scale_up_tier("node", node, *sibling));
  return "its bridges of " + number_text(domain) + " in a usual node of " + number_text(node) +
         ", PCIe between them as on " + sibling->name;
}

}  // namespace

Source user_source(const std::string& where) { return {SourceKind::kUser, where, where, "", "", ""}; }

Source assumed_source(const std::string& what, const std::string& note) {
  return {SourceKind::kAssumed, what, what, "", "", note};
}

Tier scale_up_tier(const std::string& name, std::int64_t size, const Device& device) {
  Tier tier{name, size, device.scale_up.achieved_bandwidth, device.scale_up.latency, {ratio(1), {}}};
  tier.own_link = true;
  return tier;
}

Tier fabric_tier(const std::string& name, std::int64_t size, const Fabric& fabric) {
  const std::string note =
      fabric.name + ": " + format(fabric.bandwidth.value) + " x " + format(fabric.efficiency.value);
  return {name,
          size,
          {fabric.efficiency.value * fabric.bandwidth.value,
           product_source(fabric.bandwidth.source, fabric.efficiency.source, note)},
          fabric.latency,
          {ratio(1), assumed_source("full bisection", "no oversubscription was told")},
          fabric.gpus_per_nic};
}

void set_assumed_reserve(Cluster& cluster) {
  cluster.reserve_fixed = {kReserveFixed, assumed_source("reserve", "context and communication buffers")};
  cluster.reserve_share = {kReserveShare, assumed_source("reserve", "fragmentation, of HBM")};
  cluster.assumed.push_back("reserve " + format(kReserveFixed) + " + " + format_percent(kReserveShare.raw()) +
                            " of HBM");
}

Result<Cluster> preset_cluster(const Catalog& catalog, const ClusterPreset& preset,
                               std::optional<std::int64_t> gpus) {
  const Result<const Device*> device = find_device(catalog, preset.device, "cluster " + preset.name);
  if (!device) return device.error();
  Cluster cluster;
  cluster.name = preset.name;
  cluster.source = preset.source;
  cluster.device = **device;
  cluster.gpus = gpus.value_or(preset.gpus);
  for (const ClusterPreset::PresetTier& t : preset.tiers) {
    if (t.fabric == kScaleUpFabric) {
      cluster.tiers.push_back(scale_up_tier(t.name, t.size, cluster.device));
    } else {
      const Result<const Fabric*> fabric = find_fabric(catalog, t.fabric, "cluster " + preset.name);
      if (!fabric) return fabric.error();
      cluster.tiers.push_back(fabric_tier(t.name, t.size, **fabric));
    }
    cluster.tiers.back().oversubscription = t.oversubscription;
  }
  const std::int64_t most = preset.tiers.back().size;
  if (most != 0 && cluster.gpus > most) {
    return Error{"out_of_range",
                 number_text(cluster.gpus) + " GPUs, but " + preset.name + " holds " + number_text(most),
                 "--gpus", "at most " + number_text(most), ""};
  }
  const auto network = std::find_if(preset.tiers.begin(), preset.tiers.end(),
                                    [](const auto& tier) { return tier.fabric != kScaleUpFabric; });
  cluster.collectives =
      collective_system(catalog, cluster.device, static_cast<std::size_t>(network - preset.tiers.begin()));
  fit_tiers(cluster);
  fit_torus(cluster);
  if (cluster.gpus > preset.gpus) {
    cluster.assumed.push_back(number_text(cluster.gpus) + " GPUs, more than the " + number_text(preset.gpus) +
                              " of " + preset.name + ", joined by its " + preset.tiers.back().fabric);
  }
  set_assumed_reserve(cluster);
  cluster.reliability = catalog.reliability;
  return cluster;
}

Result<Cluster> usual_cluster(const Catalog& catalog, const Device& device, std::int64_t gpus,
                              std::optional<std::int64_t> node) {
  Cluster cluster;
  cluster.name = number_text(gpus) + " x " + device.name;
  cluster.device = device;
  cluster.gpus = gpus;
  std::string chosen = add_inner_tiers(catalog, node, cluster);
  cluster.collectives = collective_system(catalog, device, cluster.tiers.size());
  const bool several = gpus > cluster.tiers.back().size;
  if (!device.usual_fabric.empty()) {
    const Result<const Fabric*> fabric =
        find_fabric(catalog, device.usual_fabric, "usual fabric of " + device.name);
    if (!fabric) return fabric.error();
    cluster.tiers.push_back(fabric_tier("network", 0, **fabric));
    if (several) chosen += (chosen.empty() ? "its usual fabric " : " and fabric ") + device.usual_fabric;
  } else if (several) {
    return Error{"missing_flag", device.name + " has no usual fabric between nodes", "--gpus",
                 "at most " + number_text(cluster.tiers.back().size) + " GPUs, or --cluster FILE", ""};
  }
  fit_tiers(cluster);
  fit_torus(cluster);
  if (!chosen.empty()) cluster.assumed.push_back(device.name + ": " + chosen);
  const std::int64_t inner = cluster.tiers.front().size;
  if (gpus > inner && gpus % inner != 0) {
    cluster.assumed.push_back(number_text(gpus) + " GPUs do not fill nodes of " + number_text(inner) +
                              ": the last one is partly used");
  }
  set_assumed_reserve(cluster);
  cluster.reliability = catalog.reliability;
  return cluster;
}

}  // namespace shardplan
