// The cluster of a question: by name, from a file, a GPU with its usual surroundings, or by hand.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "import/cluster_build.h"
#include "import/cluster_file.h"
#include "import/collective_tables.h"
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

/// GPUs that the told axes need; 1 when none is told or one is wrong, which parse_axes complains about.
std::int64_t told_degrees(const QuestionSpec& spec) {
  FlagReader flags(spec);
  std::int64_t product = 1;
  for (const FlagReader::Member axis : {&Spec::dp, &Spec::tp, &Spec::pp, &Spec::cp}) {
    product *= flags.degree(axis).value_or(1);
    if (product > kGpusMax) return kGpusMax;
  }
  return product;
}

/// Whether more than the told axes is asked for.
bool is_search(const QuestionSpec& spec) {
  return spec.purpose == Purpose::kPlan || (spec.purpose == Purpose::kServe && !spec.tp);
}

/// How many GPUs are meant when --gpus is not told: one layout takes what its axes need, a search the usual
/// number unless the told axes do not fit into it.
std::int64_t implied_gpus(const QuestionSpec& spec, std::int64_t usual) {
  const std::int64_t product = told_degrees(spec);
  return is_search(spec) && usual % product == 0 ? usual : product;
}

void say_gpus(const QuestionSpec& spec, const std::string& why, Cluster& cluster) {
  if (spec.gpus) return;
  const bool axes = told_degrees(spec) == cluster.gpus && cluster.gpus > 1;
  cluster.assumed.push_back("--gpus not told: " + std::to_string(cluster.gpus) +
                            (axes ? ", what the told axes need" : why));
}

Result<Cluster> gpu_cluster(const QuestionSpec& spec, const Catalog& catalog,
                            std::optional<std::int64_t> gpus, std::optional<std::int64_t> node) {
  const auto device = find_device(catalog, *spec.gpu, "--gpu");
  if (!device) return device.error();
  const std::int64_t usual = node.value_or((*device)->usual_gpus_per_node);
  Result<Cluster> cluster = usual_cluster(catalog, **device, gpus ? *gpus : implied_gpus(spec, usual), node);
  if (cluster) say_gpus(spec, is_search(spec) ? ", one node" : "", cluster.value());
  return cluster;
}

Result<Cluster> course_cluster(const QuestionSpec& spec, const Catalog& catalog,
                               std::optional<std::int64_t> gpus, std::optional<std::int64_t> node) {
  const auto preset = find_cluster(catalog, kDefaultCluster, "--cluster");
  if (!preset) return preset.error();
  const auto device = find_device(catalog, (*preset)->device, "--cluster");
  if (!device) return device.error();
  Result<Cluster> built =
      usual_cluster(catalog, **device, gpus ? *gpus : implied_gpus(spec, (*preset)->gpus), node);
  if (!built) return built;
  Cluster& cluster = built.value();
  cluster.name = "course cluster";
  cluster.assumed.insert(cluster.assumed.begin(), std::string("no cluster told: ") +
                                                      counted(cluster.gpus, "GPU") +
                                                      " of the course cluster (" + kDefaultCluster + ")");
  if (spec.hbm || spec.hbm_bw || spec.peak_tflops) {
    cluster.device.name = "GPU by hand";
    cluster.name = "cluster by hand";
    cluster.assumed.front() = std::string("what was not told of the cluster is the course cluster's (") +
                              kDefaultCluster + "); figures by hand are taken as achieved";
    say_gpus(spec, "", cluster);
  }
  return built;
}

Result<Cluster> base_cluster(const QuestionSpec& spec, const Catalog& catalog,
                             std::optional<std::int64_t> gpus, std::optional<std::int64_t> node) {
  if (spec.gpu) return gpu_cluster(spec, catalog, gpus, node);
  if (!spec.cluster) return course_cluster(spec, catalog, gpus, node);
  Result<Cluster> cluster = named_cluster(*spec.cluster, catalog, gpus);
  if (cluster) say_gpus(spec, ", those of " + cluster->name, cluster.value());
  return cluster;
}

/// "80GB" is how cards are sold, and means neither 80 GiB nor 80e9 bytes: what the catalog's cards report is.
void note_decimal_memory(const std::string& typed, Bytes<> memory, const Catalog& catalog,
                         std::vector<std::string>& notes) {
  if (!typed.ends_with("GB")) return;
  const auto sold = parse_number(std::string_view(typed).substr(0, typed.size() - 2));
  if (!sold || *sold != std::floor(*sold)) return;
  Bytes<> reported;
  int cards = 0;
  for (const Device& d : catalog.devices) {
    if (d.memory_sold.value == d.memory_reported.value) continue;  // round figures of an exercise
    if (d.memory_sold.value != gibibytes(*sold) && d.memory_sold.value != gigabytes(*sold)) continue;
    reported += d.memory_reported.value;
    ++cards;
  }
  std::string note = "--hbm " + typed + " is taken as " + format(memory);
  if (cards > 0) {
    const double tenths = std::round(10 * (reported / gibibytes(1)).raw() / cards);
    note += "; cards sold as " + format_number(*sold) + " GB report " + format_number(tenths / 10) + " GiB";
  }
  notes.push_back(note);
}

void override_device(FlagReader& flags, const QuestionSpec& spec, const Catalog& catalog, Cluster& cluster,
                     std::vector<std::string>& notes) {
  Device& device = cluster.device;
  if (const auto memory = flags.gibibytes_of(&Spec::hbm, kMemoryLimits)) {
    device.memory_sold = device.memory_reported = {*memory, user_source("--hbm")};
    note_decimal_memory(*spec.hbm, *memory, catalog, notes);
  }
  if (const auto bandwidth = flags.gigabytes_per_s_of(&Spec::hbm_bw, kMemoryBandwidthLimits)) {
    device.memory_bandwidth = {*bandwidth, user_source("--hbm-bw")};
  }
  if (const auto peak = flags.teraflops_of(&Spec::peak_tflops, kFlopsLimits)) {
    const auto recipe = spec.precision ? precision_recipe_named(name_key(*spec.precision)) : std::nullopt;
    device.peak[static_cast<std::size_t>(precision_of(recipe.value_or(PrecisionRecipe::kBf16)))] =
        Sourced<FlopsPerSecond<>>{*peak, user_source("--peak-tflops")};
  }
}

/// Where the hops are those of a library's table, they differ from it by what the told latency differs from
/// the link's own.
void override_inner_latency(Seconds<> told, Cluster& cluster, std::vector<std::string>& notes) {
  Tier& inner = cluster.tiers.front();
  const Seconds<> known = inner.latency.value;
  inner.latency = {told, user_source("--latency-intra")};
  if (!cluster.collectives || told == known) return;
  const bool longer = told > known;
  cluster.collectives = with_longer_hops(*cluster.collectives, told - known);
  notes.push_back("--latency-intra: hops inside a node take " + format(longer ? told - known : known - told) +
                  (longer ? " longer" : " less") + " than in the tables of " +
                  cluster.collectives->library.name + ", which go with the " + format(known) + " of " +
                  cluster.device.name);
}

void override_tiers(FlagReader& flags, Cluster& cluster, std::vector<std::string>& notes) {
  Tier& inner = cluster.tiers.front();
  if (const auto v = flags.gigabytes_per_s_of(&Spec::bw_intra, kBandwidthLimits))
    inner.bandwidth = {*v, user_source("--bw-intra")};
  if (const auto v = flags.microseconds_of(&Spec::latency_intra, kLatencyLimits))
    override_inner_latency(*v, cluster, notes);
  const auto bandwidth = flags.gigabytes_per_s_of(&Spec::bw_inter, kBandwidthLimits);
  const auto latency = flags.microseconds_of(&Spec::latency_inter, kLatencyLimits);
  if (!bandwidth && !latency) return;
  const auto take = [&](Tier& tier) {
    if (bandwidth) tier.bandwidth = {*bandwidth, user_source("--bw-inter")};
    if (latency) tier.latency = {*latency, user_source("--latency-inter")};
  };
  std::for_each(cluster.tiers.begin() + 1, cluster.tiers.end(), take);
  std::for_each(cluster.beyond.begin(), cluster.beyond.end(), take);
  if (cluster.tiers.size() < 2)
    notes.emplace_back("all GPUs are in one node: --bw-inter and --latency-inter change nothing");
  if (cluster.tiers.size() > 2)
    notes.emplace_back("--bw-inter and --latency-inter hold for every tier beyond the innermost");
}

void override_reliability(FlagReader& flags, Cluster& cluster) {
  const auto take = [&](FlagReader::Member flag, auto parse, double bare_unit, const Limits& limits,
                        const char* expected, auto& figure) {
    if (!flags.told(flag)) return;
    using Q = std::decay_t<decltype(*parse("", 1))>;
    const Result<Q> read =
        read_flag<Q>(flag_name(flag), *flags.text(flag), parse, bare_unit, limits, expected);
    if (!read) return flags.fail(read.error());
    figure = Sourced<Q>{*read, user_source(flag_name(flag))};
  };
  constexpr double kHour = 3600, kGB = 1e9;
  constexpr Limits kMtbfLimits{kMtbfHoursLimits.low * kHour, kMtbfHoursLimits.high * kHour};
  Reliability& r = cluster.reliability;
  take(&Spec::mtbf_gpu_hours, parse_seconds, kHour, kMtbfLimits, "hours, such as 50000", r.mtbf_gpu);
  take(&Spec::restart_time, parse_seconds, 1, kRestartLimits, "s, such as 600, or with a unit: 10min",
       r.restart);
  take(&Spec::checkpoint_bandwidth, parse_bandwidth, kGB, kStorageLimits,
       "GB/s of all GPUs together, such as 80, or with a unit: 1.5TB/s", r.storage);
}

/// --topology, where it is told of a device whose chips are joined so.
Result<std::optional<std::array<std::int64_t, kTorusAxes>>> told_extents(const QuestionSpec& spec) {
  std::optional<std::array<std::int64_t, kTorusAxes>> extents;
  if (!spec.topology) return extents;
  extents = extents_of(*spec.topology);
  if (extents) return extents;
  return Error{"bad_value", quoted_flag_text(*spec.topology) + " is not understood", "--topology",
               "chips along each axis: 4x4x8, 16x16", ""};
}

/// The told shape of a slice in place of the most cubic one.
std::optional<Error> take_topology(const std::array<std::int64_t, kTorusAxes>& extents, Cluster& cluster) {
  if (!cluster.torus) {
    return Error{"conflict", "the chips of " + cluster.device.name + " are not joined to a torus",
                 "--topology", "a TPU: --gpu tpu-v5p", ""};
  }
  const std::int64_t chips = cluster.torus->chips();
  std::optional<Torus> torus = slice_of(*cluster.device.scale_up.torus, extents);
  if (!torus || torus->chips() != chips) {
    return Error{"out_of_range",
                 torus ? shape_text(*torus) + " is " + std::to_string(torus->chips()) +
                             " chips, and a slice has " + std::to_string(chips)
                       : "no such slice fits in a pod of " + cluster.device.name,
                 "--topology",
                 "a shape of " + std::to_string(chips) + " chips, such as " + shape_text(*cluster.torus), ""};
  }
  torus->told = true;
  cluster.torus = torus;
  return std::nullopt;
}

/// What was taken for the shape, and what that means for its collectives.
std::string torus_words(const Cluster& cluster) {
  const Torus& torus = *cluster.torus;
  const auto closed = std::count(torus.rings.begin(), torus.rings.begin() + torus.axes, true);
  std::string text = cluster.device.name + ": a slice is " + shape_text(torus);
  if (torus.told) {
    text += " as told";
  } else if (torus.offered) {
    text += ", the most cubic shape that can be requested (--topology)";
  } else {
    text += ", though none of " + std::to_string(torus.chips()) + " chips can be requested";
  }
  text += closed == torus.axes ? "; every axis is a ring"
          : closed > 0         ? "; an axis as long as the pod's is a ring, the others are lines"
                               : "; its axes are lines, as it is too small to close";
  return text +
         "; ranks follow the axes, the first one innermost, and groups that lie on the same links share them";
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
  if (spec.gpus && spec.gpus->find(':') != std::string::npos) {
    return Error{"unsupported",
                 quoted_flag_text(*spec.gpus) + " is a range of sizes, and only plan searches one", "--gpus",
                 "one number of GPUs", ""};
  }
  const auto gpus = flags.integer(&Spec::gpus, 1, kGpusMax);
  auto node = flags.integer(&Spec::gpus_per_node, 1, kGpusMax);
  if (flags.error()) return *flags.error();
  const auto extents = told_extents(spec);
  if (!extents) return extents.error();
  // A told shape says how large a slice is.
  if (*extents && spec.gpu && !node) node = (**extents)[0] * (**extents)[1] * (**extents)[2];
  Result<Cluster> result = base_cluster(spec, catalog, gpus, node);
  if (!result) return result.error();
  Cluster cluster = std::move(result).value();
  if (*extents) {
    if (const auto error = take_topology(**extents, cluster)) return *error;
  }
  if (cluster.torus && cluster.torus->chips() > 1) cluster.assumed.push_back(torus_words(cluster));
  override_device(flags, spec, catalog, cluster, notes);
  override_tiers(flags, cluster, notes);
  override_reliability(flags, cluster);
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
  if (const auto host = flags.gibibytes_of(&Spec::host_memory, kHostMemoryLimits))
    cluster.host_memory = {*host, user_source("--host-memory")};
  if (!flags.error() && !(cluster.usable() > bytes(0))) {
    flags.fail(&Spec::hbm, "out_of_range",
               "the reserve of " + format(cluster.reserve()) + " leaves nothing of " +
                   format(cluster.device.memory_reported.value),
               "more memory, or a smaller --reserve");
  }
  if (flags.error()) return *flags.error();
  return cluster;
}

}  // namespace shardplan
