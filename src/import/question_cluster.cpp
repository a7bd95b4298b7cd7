// The cluster of a question: by name, from a file, a GPU with its usual surroundings, or by hand.
#include <filesystem>

#include "import/cluster_build.h"
#include "import/cluster_file.h"
#include "import/defaults.h"
#include "import/flag_reader.h"
#include "import/json_text.h"
#include "units/format.h"

namespace shardplan {
namespace {

using Spec = QuestionSpec;

Result<Cluster> named_cluster(const std::string& text, const Catalog& catalog,
                              std::optional<std::int64_t> gpus) {
  std::error_code ignored;
  if (std::filesystem::exists(text, ignored)) {
    const Result<std::string> file = read_text_file(text);
    if (!file) return file.error();
    return read_cluster_file(*file, text, catalog, gpus);
  }
  if (text.ends_with(".json"))
    return Error{"not_found", "no such file: " + text, "--cluster", "a cluster file or a catalog name", ""};
  const auto preset = find_cluster(catalog, text, "--cluster");
  if (!preset) return preset.error();
  return preset_cluster(catalog, **preset, gpus);
}

/// What is meant when --gpus is not told: the told axes for `memory`, nothing for `plan`.
std::optional<std::int64_t> implied_gpus(const QuestionSpec& spec) {
  if (spec.purpose != Purpose::kMemory) return std::nullopt;
  FlagReader flags(spec);
  std::int64_t product = 1;
  for (const FlagReader::Member axis : {&Spec::dp, &Spec::tp, &Spec::pp, &Spec::cp}) {
    product *= flags.degree(axis).value_or(1);
    if (product > kGpusMax) return kGpusMax;
  }
  return product;
}

Result<Cluster> base_cluster(const QuestionSpec& spec, const Catalog& catalog,
                             std::optional<std::int64_t> gpus, std::optional<std::int64_t> node) {
  if (spec.cluster) return named_cluster(*spec.cluster, catalog, gpus);
  if (spec.gpu) {
    const auto device = find_device(catalog, *spec.gpu, "--gpu");
    if (!device) return device.error();
    const std::int64_t usual = node.value_or((*device)->usual_gpus_per_node);
    Result<Cluster> cluster = usual_cluster(catalog, **device, gpus.value_or(usual), node);
    if (cluster && !gpus)
      cluster.value().assumed.push_back("--gpus not told: " + std::to_string(usual) + ", one node");
    return cluster;
  }
  const auto preset = find_cluster(catalog, kDefaultCluster, "--cluster");
  if (!preset) return preset.error();
  const auto device = find_device(catalog, (*preset)->device, "--cluster");
  if (!device) return device.error();
  Result<Cluster> cluster = usual_cluster(catalog, **device, gpus.value_or((*preset)->gpus), node);
  if (cluster) {
    cluster.value().name = "course cluster";
    cluster.value().assumed.insert(cluster.value().assumed.begin(),
                                   "no cluster told: " + std::to_string(cluster->gpus) +
                                       " GPUs of the course cluster (" + kDefaultCluster + ")");
  }
  return cluster;
}

void override_device(FlagReader& flags, const QuestionSpec& spec, Cluster& cluster,
                     std::vector<std::string>& notes) {
  Device& device = cluster.device;
  if (const auto memory = flags.gibibytes_of(&Spec::hbm, kMemoryLimits)) {
    device.memory_sold = device.memory_reported = {*memory, user_source("--hbm")};
    // "80GB" is how cards are sold; the runtime reports less.
    const auto decimal = parse_number(spec.hbm->substr(0, spec.hbm->find("GB")));
    if (spec.hbm->ends_with("GB") && decimal) {
      notes.push_back("--hbm " + *spec.hbm + " is taken as " + format(*memory) +
                      "; cards sold as 80 GB report 79.2 GiB");
    }
  }
  if (const auto bandwidth = flags.gigabytes_per_s_of(&Spec::hbm_bw, kMemoryBandwidthLimits)) {
    device.memory_bandwidth = {*bandwidth, user_source("--hbm-bw")};
  }
  if (const auto peak = flags.teraflops_of(&Spec::peak_tflops, kFlopsLimits)) {
    const auto precision = spec.precision ? precision_named(name_key(*spec.precision)) : std::nullopt;
    device.peak[static_cast<std::size_t>(precision.value_or(Precision::kBf16))] =
        Sourced<FlopsPerSecond<>>{*peak, user_source("--peak-tflops")};
  }
}

void override_tiers(FlagReader& flags, Cluster& cluster, std::vector<std::string>& notes) {
  Tier& inner = cluster.tiers.front();
  if (const auto v = flags.gigabytes_per_s_of(&Spec::bw_intra, kBandwidthLimits))
    inner.bandwidth = {*v, user_source("--bw-intra")};
  if (const auto v = flags.microseconds_of(&Spec::latency_intra, kLatencyLimits))
    inner.latency = {*v, user_source("--latency-intra")};
  const auto bandwidth = flags.gigabytes_per_s_of(&Spec::bw_inter, kBandwidthLimits);
  const auto latency = flags.microseconds_of(&Spec::latency_inter, kLatencyLimits);
  if (cluster.tiers.size() < 2) {
    if (bandwidth || latency)
      notes.push_back("all GPUs are in one node: --bw-inter and --latency-inter change nothing");
    return;
  }
  for (std::size_t i = 1; i < cluster.tiers.size(); ++i) {
    if (bandwidth) cluster.tiers[i].bandwidth = {*bandwidth, user_source("--bw-inter")};
    if (latency) cluster.tiers[i].latency = {*latency, user_source("--latency-inter")};
  }
}

}  // namespace

Result<Cluster> build_cluster(const QuestionSpec& spec, const Catalog& catalog,
                              std::vector<std::string>& notes) {
  FlagReader flags(spec);
  if (spec.cluster && (spec.gpu || spec.gpus_per_node)) {
    const char* other = spec.gpu ? "--gpu" : "--gpus-per-node";
    return Error{"conflict", std::string("--cluster says already what ") + other + " says", other,
                 "one of them", ""};
  }
  auto gpus = flags.integer(&Spec::gpus, 1, kGpusMax);
  const auto node = flags.integer(&Spec::gpus_per_node, 1, kGpusMax);
  if (flags.error()) return *flags.error();
  if (!gpus && !(spec.cluster && spec.purpose == Purpose::kPlan)) gpus = implied_gpus(spec);
  Result<Cluster> result = base_cluster(spec, catalog, gpus, node);
  if (!result) return result.error();
  Cluster cluster = std::move(result).value();
  override_device(flags, spec, cluster, notes);
  override_tiers(flags, cluster, notes);
  if (const auto reserve = flags.gibibytes_of(&Spec::reserve, kReserveLimits)) {
    cluster.reserve_fixed = {*reserve, user_source("--reserve")};
    cluster.reserve_share = {ratio(0), user_source("--reserve")};
    std::erase_if(cluster.assumed, [](const std::string& line) { return line.starts_with("reserve"); });
    if (*reserve >= cluster.device.memory_reported.value) {
      flags.fail(&Spec::reserve, "out_of_range",
                 "the reserve leaves nothing of " + format(cluster.device.memory_reported.value),
                 "less than the memory of a GPU");
    }
  }
  if (flags.error()) return *flags.error();
  return cluster;
}

}  // namespace shardplan
