#include "import/collective_tables.h"

#include <algorithm>

namespace shardplan {
namespace {

constexpr double kShareMost = 1.0, kFactorMost = 10.0, kChannelsMost = 128.0;

/// A list of exactly as many numbers.
template <class Array>
void read_list(const JsonNode& node, double high, Array& values) {
  const std::vector<JsonNode> items = node.items();
  if (node && items.size() != values.size()) {
    node.fail("wrong_length", std::to_string(items.size()) + " numbers", std::to_string(values.size()));
    return;
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    values[i] = typename Array::value_type(items[i].number(0, high));
  }
}

template <class Q>
Q read_plain(const JsonNode& node, double high = kNoLimit) {
  return Q(node.number(0, high));
}

HopLatencies read_hops(const JsonNode& node) {
  node.allow_only({"tree", "ring", "nvls", "nvls_tree"});
  HopLatencies hops;
  read_list(node.at("tree"), 1, hops.tree);
  read_list(node.at("ring"), 1, hops.ring);
  hops.nvls = read_plain<Seconds<>>(node.at("nvls"), 1);
  hops.nvls_tree = read_plain<Seconds<>>(node.at("nvls_tree"), 1);
  return hops;
}

void read_corrections(const JsonNode& node, ByProtocol<std::vector<double>>& corrections) {
  const std::vector<JsonNode> lists = node.items();
  if (lists.size() != corrections.size()) return node.fail("wrong_length", "lists", "one for each protocol");
  for (std::size_t p = 0; p < lists.size(); ++p) {
    for (const JsonNode& factor : lists[p].items()) {
      corrections[p].push_back(factor.number(1e-3, kShareMost));
    }
  }
}

CollectiveLibrary::AggregatedTrees read_pat(const JsonNode& node) {
  node.allow_only({"base_latency_s", "network_hop_s", "rank_s", "hops_at_once", "share"});
  return {read_plain<Seconds<>>(node.at("base_latency_s"), 1),
          read_plain<Seconds<>>(node.at("network_hop_s"), 1), read_plain<Seconds<>>(node.at("rank_s"), 1),
          read_plain<Ratio<>>(node.at("hops_at_once"), kFactorMost),
          read_plain<Ratio<>>(node.at("share"), kShareMost)};
}

CollectiveLibrary read_library(const JsonNode& node, const Sources& sources) {
  node.allow_only({"name", "vendor", "source", "note", "base_latency_s", "hops", "network_trips",
                   "ring_overhead_s", "ring_extra_nodes", "ring_simple_stretch", "ring_share", "tree_share",
                   "tree_share_ll", "tree_share_ll128", "network_ll_most_bytes_per_s", "tree_correction",
                   "pat"});
  CollectiveLibrary library;
  library.name = node.at("name").text();
  library.vendor = node.at("vendor").text();
  library.source = read_source_id(node.at("source"), sources);
  library.source.note = node.at("note").text();
  read_list(node.at("base_latency_s").at("tree"), 1, library.base_tree);
  read_list(node.at("base_latency_s").at("ring"), 1, library.base_ring);
  const JsonNode hops = node.at("hops");
  hops.allow_only({"scale_up", "pcie", "network"});
  library.scale_up = read_hops(hops.at("scale_up"));
  library.pcie = read_hops(hops.at("pcie"));
  library.network = read_hops(hops.at("network"));
  read_list(node.at("network_trips"), kFactorMost, library.network_trips);
  read_list(node.at("ring_overhead_s"), 1, library.ring_overhead);
  library.ring_extra_nodes = read_plain<Ratio<>>(node.at("ring_extra_nodes"), 1);
  library.ring_simple_stretch = read_plain<Ratio<>>(node.at("ring_simple_stretch"), kFactorMost);
  read_list(node.at("ring_share"), kShareMost, library.ring_share);
  library.tree_share = read_plain<Ratio<>>(node.at("tree_share"), kShareMost);
  library.tree_share_ll = read_plain<Ratio<>>(node.at("tree_share_ll"), kShareMost);
  read_list(node.at("tree_share_ll128"), kShareMost, library.tree_share_ll128);
  read_list(node.at("network_ll_most_bytes_per_s"), kNoLimit, library.network_ll_most);
  read_corrections(node.at("tree_correction"), library.tree_correction);
  if (const JsonNode pat = node.find("pat")) library.pat = read_pat(pat);
  return library;
}

LinkGeneration::SwitchReduction read_switch(const JsonNode& node) {
  node.allow_only({"efficiency", "link_bytes_per_s", "speeds_bytes_per_s"});
  LinkGeneration::SwitchReduction reduction;
  reduction.efficiency = read_plain<Ratio<>>(node.at("efficiency"), kShareMost);
  reduction.link = read_plain<BytesPerSecond<>>(node.at("link_bytes_per_s"));
  for (const JsonNode& speed : node.at("speeds_bytes_per_s").items()) {
    reduction.speeds.push_back(read_plain<BytesPerSecond<>>(speed));
  }
  return reduction;
}

LinkGeneration::Kernels read_kernels(const JsonNode& node) {
  node.allow_only({"one_shot_s", "two_shot_s", "bytes_per_s", "multimem_bytes_per_s"});
  return {read_plain<Seconds<>>(node.at("one_shot_s"), 1), read_plain<Seconds<>>(node.at("two_shot_s"), 1),
          read_plain<BytesPerSecond<>>(node.at("bytes_per_s")),
          read_plain<BytesPerSecond<>>(node.at("multimem_bytes_per_s"))};
}

LinkGeneration read_generation(const JsonNode& node, const Sources& sources) {
  node.allow_only({"architectures", "channels", "ll_most_bytes_per_s", "channel_bytes_per_s", "hop_extra_s",
                   "pipeline_fill", "peer_latency_s", "direct_latency_s", "switch_reduction", "kernels"});
  LinkGeneration g;
  g.architectures = node.at("architectures").texts();
  g.channels = read_plain<Ratio<>>(node.at("channels"), kChannelsMost);
  read_list(node.at("ll_most_bytes_per_s"), kNoLimit, g.ll_most);
  const JsonNode channel = node.at("channel_bytes_per_s");
  channel.allow_only({"ring_ll128", "tree_ll128", "tree_simple", "nvls_tree"});
  read_list(channel.at("ring_ll128"), kNoLimit, g.channel.ring_ll128);
  read_list(channel.at("tree_ll128"), kNoLimit, g.channel.tree_ll128);
  read_list(channel.at("tree_simple"), kNoLimit, g.channel.tree_simple);
  read_list(channel.at("nvls_tree"), kNoLimit, g.channel.nvls_tree);
  g.hop_extra = read_sourced<Seconds<>>(node.at("hop_extra_s"), sources, 0, 1);
  g.pipeline_fill = read_sourced<Ratio<>>(node.at("pipeline_fill"), sources, 0, kFactorMost);
  g.peer_latency = read_sourced<Seconds<>>(node.at("peer_latency_s"), sources, 0, 1);
  if (const JsonNode direct = node.find("direct_latency_s")) {
    g.direct_latency = read_sourced<Seconds<>>(direct, sources, 0, 1);
  }
  if (const JsonNode reduction = node.find("switch_reduction")) g.switch_reduction = read_switch(reduction);
  if (const JsonNode kernels = node.find("kernels")) g.kernels = read_kernels(kernels);
  return g;
}

template <class Q>
void scale(BySpan<Q>& values, Ratio<> factor) {
  for (Q& value : values) value = factor * value;
}

void scale_hops(HopLatencies& hops, Ratio<> factor) {
  scale(hops.tree, factor);
  scale(hops.ring, factor);
  hops.nvls = factor * hops.nvls;
  hops.nvls_tree = factor * hops.nvls_tree;
}

void scale_bandwidths(CollectiveSystem& system, Ratio<> factor) {
  LinkGeneration& g = system.generation;
  for (auto* caps : {&g.ll_most, &g.channel.ring_ll128, &g.channel.tree_ll128, &g.channel.tree_simple,
                     &g.channel.nvls_tree, &system.library.network_ll_most}) {
    scale(*caps, factor);
  }
  if (g.switch_reduction) {
    g.switch_reduction->link = factor * g.switch_reduction->link;
    for (BytesPerSecond<>& speed : g.switch_reduction->speeds) speed = factor * speed;
  }
  if (!g.kernels) return;
  g.kernels->bandwidth = factor * g.kernels->bandwidth;
  g.kernels->multimem = factor * g.kernels->multimem;
}

}  // namespace

void read_collective_tables(const JsonNode& root, const Sources& sources, CollectiveTables& tables) {
  root.allow_only({"libraries", "generations", "launchers"});
  for (const JsonNode& node : root.at("libraries").items()) {
    tables.libraries.push_back(read_library(node, sources));
  }
  for (const JsonNode& node : root.at("generations").items()) {
    tables.generations.push_back(read_generation(node, sources));
  }
  for (std::size_t i = 0; i < kLauncherCount; ++i) {
    tables.launchers[i] =
        read_sourced<Seconds<>>(root.at("launchers").at(name(static_cast<Launcher>(i))), sources, 0, 1);
  }
}

std::shared_ptr<const CollectiveSystem> collective_system(const Catalog& catalog, const Device& device,
                                                          std::size_t network_tier) {
  for (const CollectiveLibrary& library : catalog.collectives.libraries) {
    if (library.vendor != device.vendor) continue;
    for (const LinkGeneration& generation : catalog.collectives.generations) {
      const auto& known = generation.architectures;
      if (std::find(known.begin(), known.end(), device.architecture) == known.end()) continue;
      return std::make_shared<const CollectiveSystem>(CollectiveSystem{
          library, generation, device.scale_up.kind, device.scale_up.domain_size.value, network_tier});
    }
  }
  return nullptr;
}

std::shared_ptr<const CollectiveSystem> with_longer_hops(CollectiveSystem system, Seconds<> longer) {
  const auto lengthen = [&](Seconds<>& latency) { latency = std::max(latency + longer, seconds(0)); };
  for (HopLatencies* hops : {&system.library.scale_up, &system.library.pcie}) {
    for (auto* by_protocol : {&hops->tree, &hops->ring})
      std::for_each(by_protocol->begin(), by_protocol->end(), lengthen);
    lengthen(hops->nvls);
    lengthen(hops->nvls_tree);
  }
  LinkGeneration& g = system.generation;
  lengthen(g.peer_latency.value);
  if (g.direct_latency) lengthen(g.direct_latency->value);
  if (g.kernels) {
    lengthen(g.kernels->one_shot);
    lengthen(g.kernels->two_shot);
  }
  return std::make_shared<const CollectiveSystem>(std::move(system));
}

Cluster calibrated(const Cluster& cluster, const Calibration& calibration) {
  Cluster result = cluster;
  for (Tier& tier : result.tiers) {
    tier.bandwidth.value = calibration.bandwidth * tier.bandwidth.value;
    tier.latency.value = calibration.hop * tier.latency.value;
  }
  if (!cluster.collectives) return result;
  CollectiveSystem system = *cluster.collectives;
  for (HopLatencies* hops : {&system.library.scale_up, &system.library.pcie, &system.library.network}) {
    scale_hops(*hops, calibration.hop);
  }
  if (auto& pat = system.library.pat) {
    pat->network = calibration.hop * pat->network;
    pat->rank = calibration.hop * pat->rank;
  }
  LinkGeneration& g = system.generation;
  g.hop_extra.value = calibration.hop * g.hop_extra.value;
  g.peer_latency.value = calibration.hop * g.peer_latency.value;
  if (g.direct_latency) g.direct_latency->value = calibration.hop * g.direct_latency->value;
  g.pipeline_fill.value = calibration.fill * g.pipeline_fill.value;
  scale_bandwidths(system, calibration.bandwidth);
  result.collectives = std::make_shared<const CollectiveSystem>(std::move(system));
  return result;
}

}  // namespace shardplan
