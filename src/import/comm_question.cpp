#include "import/comm_question.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "import/cluster_build.h"
#include "import/defaults.h"
#include "import/flag_reader.h"
#include "import/json_text.h"
#include "units/format.h"

namespace shardplan {
namespace {

using Spec = CommSpec;
using Flag = QuestionSpec::Flag Spec::*;

constexpr double kGB = 1e9, kMicro = 1e-6, kMilli = 1e-3;
constexpr std::int64_t kPair = 2;

constexpr std::array<CommFlag, 20> kFlags{{
    {"--collective", &Spec::collective,
     "all-reduce (the default), all-gather, reduce-scatter, all-to-all, broadcast or send-recv"},
    {"--gpus", &Spec::gpus, "ranks that take part"},
    {"--bw", &Spec::bw, "GB/s per GPU and direction, or with a unit: 400Gbit/s"},
    {"--latency", &Spec::latency, "us of one step, or with a unit"},
    {"--bytes", &Spec::bytes, "size of the whole vector: bytes, or with a unit: 64MiB"},
    {"--params", &Spec::params, "billions of parameters whose bf16 gradients are reduced"},
    {"--step-ms", &Spec::step_ms, "ms of the step whose backward pass may hide it"},
    {"--fabric", &Spec::fabric,
     "a network of the catalog, for bandwidth and latency; with --gpu, between its nodes"},
    {"--cluster", &Spec::cluster, "a cluster of the catalog, or a file, for its tiers"},
    {"--gpu", &Spec::gpu, "a GPU of the catalog, with its usual node and network"},
    {"--gpus-per-node", &Spec::gpus_per_node, "ranks on the inner link, for the two-tier way"},
    {"--bw-intra", &Spec::bw_intra, "GB/s per GPU inside a node"},
    {"--bw-inter", &Spec::bw_inter, "GB/s per GPU between nodes"},
    {"--latency-intra", &Spec::latency_intra, "us of one step inside a node"},
    {"--latency-inter", &Spec::latency_inter, "us of one step between nodes"},
    {"--launcher", &Spec::launcher,
     "nccl-tests (the default), torch, cuda-graph or device-kernel (which opens one-shot kernels)"},
    {"--sweep", &Spec::sweep, "a range of sizes in place of one, such as 8B:16GB"},
    {"--topology", &Spec::topology, "chips of a TPU slice along each axis: 4x4x8"},
    {"--ranks-per-node", &Spec::ranks_per_node,
     "ranks of the group in each node; all of its GPUs if not told"},
    {"--groups", &Spec::groups, "such groups at once in each node; if not told, every GPU is in one"},
}};

const char* flag_of(Flag flag) {
  for (const CommFlag& f : kFlags) {
    if (f.text == flag) return f.flag;
  }
  return "?";
}

/// Takes flag after flag; the first complaint is kept.
class Reading {
 public:
  Reading(const Spec& spec, const Catalog& catalog) : spec_(spec), catalog_(catalog) {}

  Result<CommQuestion> question() {
    take_collective();
    take_ranks();
    if (told(&Spec::sweep)) {
      take_sweep();
    } else {
      take_size();
    }
    take_step();
    if (!error_) take_links();
    if (!error_) take_launcher();
    if (!error_) finish();
    if (error_) return *error_;
    return question_;
  }

 private:
  bool told(Flag flag) const { return (spec_.*flag).has_value(); }
  Flag first_told(std::initializer_list<Flag> flags) const {
    const auto at = std::find_if(flags.begin(), flags.end(), [&](Flag f) { return told(f); });
    return at == flags.end() ? nullptr : *at;
  }
  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }
  void fail(Flag flag, const char* code, std::string message, std::string expected,
            std::string nearest = "") {
    fail(Error{code, std::move(message), flag_of(flag), std::move(expected), std::move(nearest)});
  }
  /// Two flags that say the same thing.
  void refuse_beside(const char* what, std::initializer_list<Flag> flags) {
    if (const Flag other = first_told(flags)) {
      fail(other, "conflict", std::string(what) + " says already what " + flag_of(other) + " says",
           "one of them");
    }
  }
  template <class Q>
  std::optional<Sourced<Q>> take(Flag flag, std::optional<Q> (*parse)(std::string_view, double),
                                 double bare_unit, const Limits& limits, const char* expected) {
    if (!told(flag)) return std::nullopt;
    const Result<Q> read = read_flag<Q>(flag_of(flag), *(spec_.*flag), parse, bare_unit, limits, expected);
    if (read) return Sourced<Q>{*read, user_source(flag_of(flag))};
    fail(read.error());
    return std::nullopt;
  }
  std::optional<Sourced<BytesPerSecond<>>> take_bandwidth(Flag flag) {
    return take<BytesPerSecond<>>(flag, parse_bandwidth, kGB, kBandwidthLimits,
                                  "GB/s per GPU, such as 50, or with a unit: 400Gbit/s");
  }
  /// A latency that nobody told is left out, and that is said.
  Sourced<Seconds<>> take_latency(Flag flag) {
    const auto v = take<Seconds<>>(flag, parse_seconds, kMicro, kLatencyLimits,
                                   "microseconds, such as 15, or with a unit: 15us");
    if (v || error_) return v.value_or(Sourced<Seconds<>>{});
    const std::string flag_text = flag_of(flag);
    question_.assumed.push_back(flag_text + " not told: latency 0, small messages come out too fast");
    return {seconds(0), assumed_source("latency", flag_text + " not told")};
  }

  void take_collective();
  void take_ranks();
  void take_size();
  void take_sweep();
  void take_step();
  void take_links();
  void take_launcher();
  void take_cluster();
  Result<Cluster> spread_cluster();
  std::optional<std::int64_t> spread_over(std::int64_t node);
  void take_cards();
  void replace_network();
  void take_two_tiers();
  void take_fabric();
  void take_one_link();
  void finish();

  const Spec& spec_;
  const Catalog& catalog_;
  CommQuestion question_;
  std::optional<std::int64_t> gpus_;
  std::optional<std::int64_t> ranks_;  // where they do not fill the GPUs of their nodes
  std::optional<Error> error_;
};

void Reading::take_collective() {
  if (!told(&Spec::collective)) return;
  const Result<Collective> collective = read_collective(*spec_.collective, flag_of(&Spec::collective));
  if (!collective) return fail(collective.error());
  question_.collective = *collective;
}

void Reading::take_ranks() {
  FlagReader flags(spec_);
  gpus_ = flags.integer(&QuestionSpec::gpus, 1, kGpusMax);
  if (flags.error()) fail(*flags.error());
  if (gpus_ || told(&Spec::cluster) || told(&Spec::gpu) || error_) return;
  if (question_.collective == Collective::kSendRecv) {
    gpus_ = kPair;
    return;
  }
  fail(&Spec::gpus, "missing_flag", "the number of ranks is not told", "--gpus N");
}

void Reading::take_size() {
  if (told(&Spec::bytes) && told(&Spec::params)) refuse_beside("--bytes", {&Spec::params});
  if (!told(&Spec::bytes) && !told(&Spec::params)) {
    fail(&Spec::bytes, "missing_flag", "the size is not told",
         "--bytes (64MiB) or --params (billions, bf16 gradients)");
  }
  if (const auto size = take<Bytes<>>(&Spec::bytes, parse_bytes, 1.0, kMessageLimits,
                                      "bytes, or with a unit: 64MiB, 14GB")) {
    question_.size = *size;
  }
  FlagReader flags(spec_);
  if (const auto parameters = flags.parameters(&QuestionSpec::params)) {
    question_.parameters = Sourced<Ratio<>>{ratio(*parameters), user_source("--params")};
    question_.bytes_per_parameter = {kGradientWidth, assumed_source("bf16", "")};
    question_.assumed.push_back("bf16 gradients: " + format_number(kGradientWidth.raw()) +
                                " bytes a parameter, all of them reduced in one step");
  }
  if (flags.error()) fail(*flags.error());
}

/// Both ends in bytes, the lower one first.
void Reading::take_sweep() {
  refuse_beside("--sweep", {&Spec::bytes, &Spec::params, &Spec::step_ms});
  const std::string& typed = *spec_.sweep;
  const std::size_t colon = typed.find(':');
  const auto low = parse_bytes(typed.substr(0, colon));
  const auto high = colon == std::string::npos ? std::nullopt : parse_bytes(typed.substr(colon + 1));
  const char* expected = "two sizes, the smaller one first: 8B:16GB";
  if (!low || !high) {
    return fail(&Spec::sweep, "bad_value", quoted_flag_text(typed) + " is not understood", expected);
  }
  if (!kMessageLimits.hold(low->raw()) || !kMessageLimits.hold(high->raw()) || *high < *low) {
    return fail(&Spec::sweep, "out_of_range", quoted_flag_text(typed) + " is no range of sizes", expected);
  }
  question_.sweep = SizeRange{*low, *high};
  question_.size = {*high, user_source("--sweep")};
}

void Reading::take_step() {
  question_.step = take<Seconds<>>(&Spec::step_ms, parse_seconds, kMilli, kStepLimits,
                                   "ms, such as 700, or with a unit: 0.7s");
  if (question_.step) {
    question_.assumed.emplace_back(
        "the window is the backward pass, two thirds of the step; gradients are ready evenly over it");
  }
}

void Reading::take_links() {
  if (told(&Spec::cluster) || told(&Spec::gpu)) return take_cluster();
  if (first_told({&Spec::gpus_per_node, &Spec::bw_intra, &Spec::bw_inter, &Spec::latency_intra,
                  &Spec::latency_inter})) {
    return take_two_tiers();
  }
  if (told(&Spec::fabric)) return take_fabric();
  take_one_link();
}

void Reading::take_cluster() {
  const char* what = told(&Spec::cluster) ? "--cluster" : "--gpu";
  refuse_beside(what, {&Spec::bw, &Spec::latency});
  if (told(&Spec::cluster)) refuse_beside(what, {&Spec::fabric});
  if (error_) return;
  Result<Cluster> cluster =
      told(&Spec::ranks_per_node) ? spread_cluster() : build_cluster(spec_, catalog_, question_.assumed);
  if (!cluster) return fail(cluster.error());
  question_.cluster = std::move(cluster).value();
  if (told(&Spec::fabric)) replace_network();
  for (const std::string& line : question_.cluster.assumed) {
    if (!line.starts_with("reserve")) question_.assumed.push_back(line);
  }
}

/// The first tier that is a network; the number of tiers where there is none.
std::size_t network_of(const Cluster& cluster) {
  for (std::size_t i = 1; i < cluster.tiers.size(); ++i) {
    if (!cluster.tiers[i].own_link) return i;
  }
  return cluster.tiers.size();
}

/// Takes --ranks-per-node: GPUs from one rank to the next, and as many nodes as the ranks then need.
std::optional<std::int64_t> Reading::spread_over(std::int64_t node) {
  const Result<std::int64_t> held =
      read_whole(flag_of(&Spec::ranks_per_node), *spec_.ranks_per_node, 1, node);
  if (!held) {
    fail(held.error());
    return std::nullopt;
  }
  if (node % *held != 0) {
    fail(&Spec::ranks_per_node, "out_of_range",
         *spec_.ranks_per_node + " ranks are not spread evenly over nodes of " + std::to_string(node),
         "a divisor of " + std::to_string(node));
    return std::nullopt;
  }
  question_.stride = node / *held;
  if (!gpus_) return std::nullopt;
  ranks_ = *gpus_;
  return (*gpus_ + *held - 1) / *held * node;
}

/// The cluster of a group that does not fill its nodes: first all of it, to see what a node is.
Result<Cluster> Reading::spread_cluster() {
  Spec whole = spec_;
  if (told(&Spec::gpu)) {
    whole.gpus = std::to_string(kGpusMax);
  } else {
    whole.gpus.reset();
  }
  std::vector<std::string> unused;
  Result<Cluster> all = build_cluster(whole, catalog_, unused);
  if (!all) return all;
  const std::size_t network = network_of(*all);
  if (network >= all->tiers.size()) {
    return Error{"conflict", "there is one node, so that the ranks cannot be spread over several",
                 flag_of(&Spec::ranks_per_node), "a cluster of several nodes", ""};
  }
  const auto gpus = spread_over(all->tiers[network - 1].size);
  if (error_) return *error_;
  if (gpus) whole.gpus = std::to_string(*gpus);
  if (!gpus) whole.gpus.reset();
  Result<Cluster> spread = build_cluster(whole, catalog_, question_.assumed);
  if (spread && !gpus) ranks_ = spread->gpus / question_.stride;
  return spread;
}

/// Who shares the network cards of a node; as in a plan, every GPU of it is in one group unless told.
void Reading::take_cards() {
  const Cluster& cluster = question_.cluster;
  const std::size_t network = network_of(cluster);
  const bool pair = question_.collective == Collective::kSendRecv;
  if (network >= cluster.tiers.size()) {
    if (!told(&Spec::groups)) return;
    if (cluster.tiers.front().own_link || told(&Spec::gpus_per_node)) {
      question_.assumed.emplace_back("all ranks are in one node: --groups changes nothing");
      return;
    }
    return fail(&Spec::groups, "conflict", "no nodes are told, whose network cards groups would share",
                "--gpu NAME, --cluster NAME or --gpus-per-node N");
  }
  CardSharing cards;
  cards.network = network;
  cards.gpus = cluster.tiers[network - 1].size;
  const auto& nic = cluster.tiers[network].gpus_per_nic;
  const double per_card = nic ? nic->value.raw() : 1;
  cards.source = nic ? nic->source : assumed_source("cards", "one network card for each GPU");
  cards.cards = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(static_cast<double>(cards.gpus) / per_card), 1, cards.gpus);
  cards.ranks = pair ? 1 : cards.gpus / question_.stride;
  const std::int64_t most = cards.gpus / cards.ranks;
  cards.groups = most;
  if (told(&Spec::groups)) {
    const Result<std::int64_t> groups = read_whole(flag_of(&Spec::groups), *spec_.groups, 1, kGpusMax);
    if (!groups) return fail(groups.error());
    if (*groups > most) {
      return fail(&Spec::groups, "out_of_range",
                  *spec_.groups + " groups with " + std::to_string(cards.ranks) + " ranks each in nodes of " +
                      std::to_string(cards.gpus) + ": a GPU would be in several",
                  "at most " + std::to_string(most) + "; --ranks-per-node spreads a group over more nodes");
    }
    cards.groups = *groups;
  } else {
    question_.assumed.push_back(
        "as in a plan every GPU of a node is in one such group: " + std::to_string(most) +
        (most > 1 ? " groups" : " group") + " at once (--groups)");
  }
  if (!nic) question_.assumed.emplace_back("one network card for each GPU of a node");
  question_.cards = cards;
}

/// The told network in place of the GPU's usual one.
void Reading::replace_network() {
  const auto fabric = find_fabric(catalog_, *spec_.fabric, "--fabric");
  if (!fabric) return fail(fabric.error());
  Cluster& cluster = question_.cluster;
  if (cluster.tiers.size() < 2) {
    question_.assumed.emplace_back("all GPUs are in one node: --fabric changes nothing");
    return;
  }
  Tier& network = cluster.tiers.back();
  network = fabric_tier(network.name, network.size, **fabric);
  question_.assumed.push_back("--fabric " + (*fabric)->name + " in place of the usual one");
}

void Reading::take_launcher() {
  const auto& tables = catalog_.collectives;
  if (told(&Spec::launcher)) {
    const std::string key = name_key(*spec_.launcher);
    const auto launcher = launcher_named(key);
    if (!launcher) {
      std::vector<std::string> names;
      for (std::size_t i = 0; i < kLauncherCount; ++i) names.emplace_back(name(static_cast<Launcher>(i)));
      return fail(&Spec::launcher, "unknown_name", "no launcher named " + quoted_flag_text(*spec_.launcher),
                  "nccl-tests, torch, cuda-graph or device-kernel", nearest_name(key, names));
    }
    if (!question_.cluster.collectives) {
      return fail(&Spec::launcher, "conflict", "no collective library is known for these links",
                  "a GPU of NVIDIA or AMD: --gpu NAME or --cluster NAME");
    }
    question_.launcher = *launcher;
    question_.scope.kernels = *launcher == Launcher::kDeviceKernel;
  }
  question_.launch = tables.launchers[static_cast<std::size_t>(question_.launcher)];
}

void Reading::take_two_tiers() {
  refuse_beside("--gpus-per-node with --bw-intra and --bw-inter", {&Spec::bw, &Spec::latency});
  for (const Flag flag : {&Spec::gpus_per_node, &Spec::bw_intra}) {
    if (!told(flag))
      fail(flag, "missing_flag", "one of the two links is told in part",
           "all of --gpus-per-node, --bw-intra and --bw-inter");
  }
  FlagReader flags(spec_);
  const std::int64_t node = flags.integer(&QuestionSpec::gpus_per_node, 1, kGpusMax).value_or(1);
  if (flags.error()) fail(*flags.error());
  const auto inner = take_bandwidth(&Spec::bw_intra);
  if (error_) return;
  question_.cluster.tiers.push_back(
      {"node", node, *inner, take_latency(&Spec::latency_intra), {ratio(1), {}}});
  if (told(&Spec::fabric)) {
    refuse_beside("--fabric", {&Spec::bw_inter});
    const auto fabric = find_fabric(catalog_, *spec_.fabric, "--fabric");
    if (!fabric) return fail(fabric.error());
    question_.cluster.tiers.push_back(fabric_tier("network", 0, **fabric));
    if (told(&Spec::latency_inter))
      question_.cluster.tiers.back().latency = take_latency(&Spec::latency_inter);
    return;
  }
  const auto outer = take_bandwidth(&Spec::bw_inter);
  if (!outer && *gpus_ > node) {
    fail(&Spec::bw_inter, "missing_flag",
         "the ranks do not fit in a node, and the link between nodes is not told",
         "--bw-inter, or --fabric NAME");
  }
  if (outer && !error_) {
    question_.cluster.tiers.push_back(
        {"network", 0, *outer, take_latency(&Spec::latency_inter), {ratio(1), {}}});
  }
}

void Reading::take_fabric() {
  refuse_beside("--fabric", {&Spec::bw});
  const auto fabric = find_fabric(catalog_, *spec_.fabric, "--fabric");
  if (!fabric) return fail(fabric.error());
  question_.cluster.tiers.push_back(fabric_tier("network", 0, **fabric));
  if (told(&Spec::latency)) question_.cluster.tiers.back().latency = take_latency(&Spec::latency);
  question_.assumed.push_back(
      (*fabric)->name +
      ": all ranks on the network; --gpus-per-node and --bw-intra add the link inside nodes");
}

void Reading::take_one_link() {
  const auto bandwidth = take_bandwidth(&Spec::bw);
  if (!bandwidth) {
    return fail(
        &Spec::bw, "missing_flag", "no bandwidth is told",
        "--bw GB/s per GPU, --fabric, --cluster or --gpu NAME, or --gpus-per-node with --bw-intra and --bw-inter");
  }
  question_.cluster.tiers.push_back({"link", 0, *bandwidth, take_latency(&Spec::latency), {ratio(1), {}}});
}

void Reading::finish() {
  Cluster& cluster = question_.cluster;
  const char* told_by = told(&Spec::gpus) || told(&Spec::gpu) ? "--gpus" : "--cluster";
  if (cluster.gpus == 0) {
    cluster.gpus = *gpus_;
    if (told(&Spec::ranks_per_node)) {
      if (cluster.tiers.size() < 2) {
        return fail(&Spec::ranks_per_node, "conflict",
                    "no nodes are told, over which the ranks would be spread",
                    "--gpu NAME, --cluster NAME or --gpus-per-node N with the links of both");
      }
      cluster.gpus = spread_over(cluster.tiers.front().size).value_or(*gpus_);
      if (error_) return;
    }
    fit_tiers(cluster);
  }
  question_.ranks = {ratio(static_cast<double>(ranks_.value_or(cluster.gpus))), user_source(told_by)};
  if (question_.collective == Collective::kSendRecv) {
    if (told(&Spec::ranks_per_node)) return refuse_beside("send-recv of two ranks", {&Spec::ranks_per_node});
    if (cluster.gpus < kPair) {
      return fail(
          Error{"out_of_range", "send-recv joins two ranks, and there is one", told_by, "2 or more", ""});
    }
    question_.assumed.emplace_back("send-recv joins two ranks, as far apart as the links go");
  }
  question_.risk = &catalog_.risk;
  question_.contention = {ratio(0), assumed_source("left out here", "")};
  take_cards();
  question_.assumed.emplace_back("contention 0: what is hidden does not slow the compute beside it");
  if (cluster.torus) {
    question_.assumed.emplace_back(
        "cost is hops x latency + bytes / bandwidth of the links, all axes at once, as in How to Scale Your Model; what XLA adds or hides is left out");
    return;
  }
  if (!cluster.collectives) {
    question_.assumed.emplace_back(
        "cost is latency + size / bandwidth; trees, in-network reduction and protocol switches are left out");
    return;
  }
  question_.assumed.push_back("the ways and their costs are those of " + cluster.collectives->library.name +
                              "'s own tables; a cloud's tuner plug-in may choose otherwise");
  question_.assumed.push_back(std::string("launched as by ") + name(question_.launcher) +
                              (told(&Spec::launcher) ? "" : " (--launcher)"));
}

}  // namespace

std::span<const CommFlag> comm_flags() { return kFlags; }

Result<Collective> read_collective(const std::string& text, const char* flag) {
  const std::string key = name_key(text);
  if (const auto collective = collective_named(key)) return *collective;
  std::vector<std::string> names;
  std::string list;
  for (int i = 0; i < kCollectiveCount; ++i) {
    names.emplace_back(name(static_cast<Collective>(i)));
    list += (list.empty() ? "one of " : ", ") + names.back();
  }
  return Error{"unknown_name", "no collective named " + quoted_flag_text(text), flag, list,
               nearest_name(key, names)};
}

Result<CommQuestion> build_comm_question(const CommSpec& spec, const Catalog& catalog) {
  return Reading(spec, catalog).question();
}

}  // namespace shardplan
