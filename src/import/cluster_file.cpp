#include "import/cluster_file.h"

#include <limits>

#include "import/cluster_build.h"
#include "import/defaults.h"
#include "import/json_node.h"
#include "import/json_text.h"
#include "import/limits.h"
#include "units/format.h"

namespace shardplan {
namespace {

constexpr std::size_t kTiersMax = 16;
constexpr Seconds<> kHour = seconds(3600);
constexpr double kNoUnit = std::numeric_limits<double>::quiet_NaN();
constexpr const char* kMtbfKey = "mtbf_gpu_hours";
constexpr const char *kPriceKey = "price_per_gpu_hour_usd", *kWattsKey = "power_per_gpu_w";

struct Reader {
  const Catalog& catalog;
  std::string document;
};

Source source_of(const Reader& reader, const JsonNode& node) {
  Source source = user_source(reader.document);
  source.ref = node.path();
  return source;
}

/// A name that some part of the catalog must know.
template <class Find>
auto named(const Reader& reader, const JsonNode& node, Find find) {
  const auto found = find(reader.catalog, node.text(), "");
  using Entry = std::remove_cvref_t<decltype(*found)>;
  if (found) return *found;
  if (node.is_text())
    node.fail(found.error().code, found.error().message, found.error().expected, found.error().nearest);
  return Entry(nullptr);
}

// A quantity is written "key": "400Gbit/s", or "key_unit": 50e9 in the SI base unit -------------------------

template <class Q>
struct QuantityForm {
  std::optional<Q> (*parse)(std::string_view text, double bare_unit);
  Limits limits;
  const char* example;
};
constexpr QuantityForm<Bytes<>> kMemoryForm{parse_bytes, kMemoryLimits, "79.2GiB"};
constexpr QuantityForm<Bytes<>> kReserveForm{parse_bytes, kReserveLimits, "4GiB"};
constexpr QuantityForm<Bytes<>> kHostMemoryForm{parse_bytes, kHostMemoryLimits, "2TiB"};
constexpr QuantityForm<BytesPerSecond<>> kMemoryRateForm{parse_bandwidth, kMemoryBandwidthLimits, "3.35TB/s"};
constexpr QuantityForm<BytesPerSecond<>> kRateForm{parse_bandwidth, kBandwidthLimits, "400Gbit/s"};
constexpr QuantityForm<BytesPerSecond<>> kStorageForm{parse_bandwidth, kStorageLimits, "80GB/s"};
constexpr QuantityForm<Seconds<>> kRestartForm{parse_seconds, kRestartLimits, "10min"};
constexpr QuantityForm<Seconds<>> kLatencyForm{parse_seconds, kLatencyLimits, "15us"};
constexpr QuantityForm<FlopsPerSecond<>> kFlopsForm{parse_flops_per_s, kFlopsLimits, "989TFLOP/s"};

template <class Q>
Sourced<Q> read_written(const Reader& reader, const JsonNode& node, const QuantityForm<Q>& form) {
  const std::string expected = std::string("a text with unit, such as \"") + form.example + "\"";
  if (!node.is_text()) {
    node.fail("wrong_type", "the unit is missing", expected);
    return {};
  }
  const std::optional<Q> read = form.parse(node.text(), kNoUnit);
  if (!read || read->raw() != read->raw()) {
    node.fail("bad_unit", "\"" + node.text() + "\" is not understood", expected);
    return {};
  }
  if (!form.limits.hold(read->raw())) {
    node.fail("out_of_range", "\"" + node.text() + "\" is out of range",
              "between " + format(Q(form.limits.low)) + " and " + format(Q(form.limits.high)));
    return {};
  }
  return {*read, source_of(reader, node)};
}

template <class Q>
Sourced<Q> read_si(const Reader& reader, const JsonNode& node, const QuantityForm<Q>& form) {
  return {Q(node.number(form.limits.low, form.limits.high)), source_of(reader, node)};
}

/// Either spelling; both at once is a contradiction.
template <class Q>
std::optional<Sourced<Q>> read_optional(const Reader& reader, const JsonNode& parent, const char* key,
                                        const char* si_key, const QuantityForm<Q>& form) {
  const JsonNode written = parent.find(key), si = parent.find(si_key);
  if (written.json() != nullptr && si.json() != nullptr) {
    si.fail("conflict", std::string("both \"") + key + "\" and \"" + si_key + "\"", "one of them");
  }
  if (written.json() != nullptr) return read_written(reader, written, form);
  if (si.json() != nullptr) return read_si(reader, si, form);
  return std::nullopt;
}

template <class Q>
Sourced<Q> read_required(const Reader& reader, const JsonNode& parent, const char* key, const char* si_key,
                         const QuantityForm<Q>& form) {
  const auto read = read_optional(reader, parent, key, si_key, form);
  if (!read) parent.at(key);  // complains
  return read.value_or(Sourced<Q>{});
}

// The device ------------------------------------------------------------------------------------------------

Precision read_precision(const std::string& key, const JsonNode& node) {
  const std::optional<Precision> precision = precision_named(key);
  if (!precision) {
    std::vector<std::string> names;
    names.reserve(kPrecisionCount);
    for (int i = 0; i < kPrecisionCount; ++i) names.emplace_back(name(static_cast<Precision>(i)));
    node.fail("unknown_name", "no precision named \"" + key + "\"", "bf16, fp8, ...",
              nearest_name(key, names));
  }
  return precision.value_or(Precision::kBf16);
}

void read_peaks(const Reader& reader, const JsonNode& node, Device& device) {
  if (const JsonNode written = node.find("peak")) {
    for (const auto& [key, value] : written.members()) {
      device.peak[static_cast<std::size_t>(read_precision(key, value))] =
          read_written(reader, value, kFlopsForm);
    }
  }
  if (const JsonNode si = node.find("peak_flops")) {
    for (const auto& [key, value] : si.members()) {
      device.peak[static_cast<std::size_t>(read_precision(key, value))] = read_si(reader, value, kFlopsForm);
    }
  }
}

Sourced<Ratio<>> read_share(const Reader& reader, const JsonNode& node) {
  return {ratio(node.number(kShareLimits.low, kShareLimits.high)), source_of(reader, node)};
}

void read_efficiency(const Reader& reader, const JsonNode& node, Efficiency& e) {
  node.allow_only(
      {"gemm", "gemm_k_half", "attention", "memory", "kernel_launch", "kernel_launch_s", "contention"});
  constexpr double kHalfMax = 1e6;
  if (const JsonNode gemm = node.find("gemm")) {
    for (const auto& [key, value] : gemm.members()) {
      e.gemm[static_cast<std::size_t>(read_precision(key, value))] = read_share(reader, value);
    }
  }
  if (const JsonNode half = node.find("gemm_k_half")) {
    for (const auto& [key, value] : half.members()) {
      e.gemm_k_half[static_cast<std::size_t>(read_precision(key, value))] =
          Sourced<Ratio<>>{ratio(value.number(0, kHalfMax)), source_of(reader, value)};
    }
  }
  if (const JsonNode attention = node.find("attention")) e.attention = read_share(reader, attention);
  if (const JsonNode memory = node.find("memory")) e.memory = read_share(reader, memory);
  if (const auto launch = read_optional(reader, node, "kernel_launch", "kernel_launch_s", kLatencyForm)) {
    e.kernel_launch = *launch;
  }
  if (const JsonNode contention = node.find("contention")) {
    e.contention = {ratio(contention.number(0, 1)), source_of(reader, contention)};
  }
}

/// A precision with a peak and no efficiency of its own takes that of bf16.
void complete_efficiency(Device& device) {
  const auto bf16 = static_cast<std::size_t>(Precision::kBf16);
  for (std::size_t i = 0; i < device.peak.size(); ++i) {
    if (!device.peak[i]) continue;
    if (!device.efficiency.gemm[i]) device.efficiency.gemm[i] = device.efficiency.gemm[bf16];
    if (!device.efficiency.gemm_k_half[i])
      device.efficiency.gemm_k_half[i] = device.efficiency.gemm_k_half[bf16];
  }
}

/// What an inline device starts from: the catalog device it is like, or the default one without its numbers.
Device base_device(const Reader& reader, const JsonNode& node) {
  if (const JsonNode like = node.find("like")) {
    const Device* found = named(reader, like, find_device);
    return found != nullptr ? *found : Device{};
  }
  Device base;
  if (const auto preset = find_cluster(reader.catalog, kDefaultCluster, "")) {
    if (const auto device = find_device(reader.catalog, (*preset)->device, ""))
      base.efficiency = (*device)->efficiency;
  }
  base.usual_gpus_per_node = 1;
  return base;
}

Device read_inline_device(const Reader& reader, const JsonNode& node, Cluster& cluster) {
  node.allow_only({"name", "like", "memory", "memory_bytes", "memory_bandwidth",
                   "memory_bandwidth_bytes_per_s", "peak", "peak_flops", "efficiency"});
  const bool like = static_cast<bool>(node.find("like"));
  Device device = base_device(reader, node);
  device.name = node.find("name") ? printable(node.find("name").text())
                : like            ? device.name + " (changed)"
                                  : "own device";
  device.aliases.clear();
  const auto memory = read_optional(reader, node, "memory", "memory_bytes", kMemoryForm);
  const auto rate =
      read_optional(reader, node, "memory_bandwidth", "memory_bandwidth_bytes_per_s", kMemoryRateForm);
  if (memory) device.memory_sold = device.memory_reported = *memory;
  if (rate) device.memory_bandwidth = *rate;
  read_peaks(reader, node, device);
  if (const JsonNode efficiency = node.find("efficiency")) {
    read_efficiency(reader, efficiency, device.efficiency);
  } else if (!like) {
    cluster.assumed.push_back(device.name + ": peak and bandwidths are taken as achieved (efficiency 1)");
  }
  complete_efficiency(device);
  if (like) return device;
  if (!memory) node.at("memory");
  if (!rate) node.at("memory_bandwidth");
  if (!node.find("peak_flops") && !node.find("peak")) node.at("peak");
  return device;
}

// The tiers -------------------------------------------------------------------------------------------------

Tier read_tier(const Reader& reader, const JsonNode& node, const Device& device) {
  node.allow_only({"name", "size", "fabric", "bandwidth", "bandwidth_bytes_per_s", "latency", "latency_s",
                   "oversubscription", "gpus_per_nic"});
  Tier tier;
  const std::string name = printable(node.at("name").text());
  const std::int64_t size = node.at("size").integer(1, kGpusMax);
  const JsonNode fabric = node.find("fabric");
  if (fabric.json() == nullptr) {
    tier = {name, size, {}, {}, {ratio(1), assumed_source("full bisection", "no oversubscription was told")}};
    tier.bandwidth = read_required(reader, node, "bandwidth", "bandwidth_bytes_per_s", kRateForm);
    tier.latency = read_required(reader, node, "latency", "latency_s", kLatencyForm);
  } else if (fabric.is_text() && fabric.text() == kScaleUpFabric) {
    if (device.scale_up.achieved_bandwidth.value.raw() <= 0) {
      fabric.fail("missing_field", "the device has no link of its own",
                  "bandwidth and latency, or a device \"like\" one");
    }
    tier = scale_up_tier(name, size, device);
  } else {
    const Fabric* found = named(reader, fabric, find_fabric);
    tier = fabric_tier(name, size, found != nullptr ? *found : Fabric{});
  }
  if (fabric) {
    if (const auto rate = read_optional(reader, node, "bandwidth", "bandwidth_bytes_per_s", kRateForm))
      tier.bandwidth = *rate;
    if (const auto latency = read_optional(reader, node, "latency", "latency_s", kLatencyForm))
      tier.latency = *latency;
  }
  if (const JsonNode nic = node.find("gpus_per_nic")) {
    const double gpus = nic.number(kGpusPerNicLimits.low, kGpusPerNicLimits.high);
    tier.gpus_per_nic = Sourced<Ratio<>>{ratio(gpus), source_of(reader, nic)};
  }
  if (const JsonNode over = node.find("oversubscription")) {
    const double factor = over.number(kOversubscriptionLimits.low, kOversubscriptionLimits.high);
    tier.oversubscription = {ratio(factor), source_of(reader, over)};
  }
  return tier;
}

void read_tiers(const Reader& reader, const JsonNode& node, Cluster& cluster) {
  const std::vector<JsonNode> tiers = node.items();
  if (node.json() != nullptr && node.json()->is_array() && (tiers.empty() || tiers.size() > kTiersMax)) {
    node.fail("out_of_range", std::to_string(tiers.size()) + " tiers",
              "1 to " + std::to_string(kTiersMax) + " tiers");
    return;
  }
  for (const JsonNode& t : tiers) {
    cluster.tiers.push_back(read_tier(reader, t, cluster.device));
    if (cluster.tiers.size() < 2) continue;
    const std::int64_t inside = cluster.tiers[cluster.tiers.size() - 2].size;
    if (cluster.tiers.back().size > inside) continue;
    t.find("size").fail("out_of_range",
                        std::to_string(cluster.tiers.back().size) + " is not larger than the tier inside it",
                        "more than " + std::to_string(inside) + ": sizes count GPUs, innermost tier first");
  }
}

/// A device described without a link of its own has that of the innermost tier.
void complete_scale_up(Cluster& cluster) {
  ScaleUp& link = cluster.device.scale_up;
  if (link.achieved_bandwidth.value.raw() > 0 || cluster.tiers.empty()) return;
  const Tier& inner = cluster.tiers.front();
  link.domain_size = {ratio(static_cast<double>(inner.size)), inner.bandwidth.source};
  link.bandwidth = link.achieved_bandwidth = inner.bandwidth;
  link.latency = inner.latency;
  cluster.device.usual_gpus_per_node = inner.size;
}

ClusterPrices read_prices(const std::string& document, const JsonNode& root) {
  const auto source = [&](const JsonNode& node) {
    Source s = user_source(document);
    s.ref = node.path();
    return s;
  };
  ClusterPrices prices;
  if (const JsonNode price = root.find(kPriceKey))
    prices.price = {usd_per_hour(price.number(kPriceLimits.low, kPriceLimits.high)), source(price)};
  if (const JsonNode watts = root.find(kWattsKey))
    prices.watts = {watts.number(kWattsLimits.low, kWattsLimits.high), source(watts)};
  return prices;
}

/// The catalog's figures, and what the file says in their place.
Reliability read_reliability(const Reader& reader, const JsonNode& root) {
  Reliability r = reader.catalog.reliability;
  if (const JsonNode hours = root.find(kMtbfKey)) {
    const double told = hours.number(kMtbfHoursLimits.low, kMtbfHoursLimits.high);
    r.mtbf_gpu = {told * kHour, source_of(reader, hours)};
  }
  if (const auto restart = read_optional(reader, root, "restart_time", "restart_time_s", kRestartForm))
    r.restart = *restart;
  const auto storage =
      read_optional(reader, root, "checkpoint_bandwidth", "checkpoint_bandwidth_bytes_per_s", kStorageForm);
  if (storage) r.storage = storage;
  return r;
}

Cluster read_cluster(const Reader& reader, const JsonNode& root, std::optional<std::int64_t> gpus) {
  root.allow_only({"name", "description", "gpus", "device", "tiers", "reserve", "reserve_bytes",
                   "host_memory", "host_memory_bytes", kPriceKey, kWattsKey, kMtbfKey, "restart_time",
                   "restart_time_s", "checkpoint_bandwidth", "checkpoint_bandwidth_bytes_per_s"});
  read_prices(reader.document, root);  // for its complaints
  Cluster cluster;
  cluster.name = printable(root.find("name") ? root.find("name").text() : reader.document);
  if (const JsonNode description = root.find("description")) description.text();
  const JsonNode device = root.at("device");
  if (device.is_object()) {
    cluster.device = read_inline_device(reader, device, cluster);
  } else if (device.json() != nullptr) {
    const Device* found = named(reader, device, find_device);
    if (found != nullptr) cluster.device = *found;
  }
  const JsonNode tiers = root.at("tiers");
  read_tiers(reader, tiers, cluster);
  const JsonNode count = root.find("gpus");
  const std::int64_t most = cluster.tiers.empty() ? 0 : cluster.tiers.back().size;
  cluster.gpus = count.json() != nullptr ? count.integer(1, kGpusMax) : most;
  if (gpus) cluster.gpus = *gpus;
  if (cluster.gpus > most) {
    (gpus || !count ? tiers : count)
        .fail("out_of_range",
              std::to_string(cluster.gpus) + " GPUs, but the outermost tier holds " + std::to_string(most),
              "at most " + std::to_string(most) + ", or a larger outermost tier");
  }
  complete_scale_up(cluster);
  set_assumed_reserve(cluster);
  if (const auto reserve = read_optional(reader, root, "reserve", "reserve_bytes", kReserveForm)) {
    cluster.reserve_fixed = *reserve;
    cluster.reserve_share = {ratio(0), reserve->source};
    cluster.assumed.pop_back();
  }
  cluster.host_memory = read_optional(reader, root, "host_memory", "host_memory_bytes", kHostMemoryForm);
  cluster.reliability = read_reliability(reader, root);
  return cluster;
}

}  // namespace

Result<Cluster> read_cluster_file(std::string_view text, std::string_view where, const Catalog& catalog,
                                  std::optional<std::int64_t> gpus) {
  const Result<nlohmann::json> json = parse_json(text, where);
  if (!json) return json.error();
  ReadLog log{std::string(where), {}};
  const Reader reader{catalog, std::string(where)};
  Cluster cluster = read_cluster(reader, JsonNode(&json.value(), "", &log), gpus);
  if (log.error) return *log.error;
  fit_tiers(cluster);
  fit_torus(cluster);
  return cluster;
}

Result<ClusterPrices> read_cluster_prices(std::string_view text, std::string_view where) {
  const Result<nlohmann::json> json = parse_json(text, where);
  if (!json) return json.error();
  ReadLog log{std::string(where), {}};
  ClusterPrices prices = read_prices(std::string(where), JsonNode(&json.value(), "", &log));
  if (log.error) return *log.error;
  return prices;
}

}  // namespace shardplan
