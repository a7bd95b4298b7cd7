#include "validate/collective_run.h"

#include <array>
#include <cctype>
#include <cmath>
#include <utility>

#include "import/cluster_build.h"
#include "import/collective_tables.h"
#include "import/limits.h"
#include "units/format.h"

namespace shardplan {
namespace {

constexpr double kMicro = 1e-6;
constexpr std::size_t kShortestAlias = 3;

Error skip(const std::string& reason) { return {"skipped", reason, "", "", ""}; }

/// Names of the tests of nccl-tests.
constexpr std::array<std::pair<const char*, Collective>, 6> kTests{
    {{"all_reduce", Collective::kAllReduce},
     {"all_gather", Collective::kAllGather},
     {"reduce_scatter", Collective::kReduceScatter},
     {"alltoall", Collective::kAllToAll},
     {"sendrecv", Collective::kSendRecv},
     {"broadcast", Collective::kBroadcast}}};

std::optional<Collective> collective_of(const std::string& text) {
  for (const auto& [test, collective] : kTests) {
    if (text == test) return collective;
  }
  return collective_named(name_key(text));
}

/// The first word of a description that names a device: "NVIDIA H100 80GB HBM3 (HGX, 8/node)".
const Device* device_in(const std::string& text, const Catalog& catalog) {
  std::string word;
  for (const char c : text + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += c;
      continue;
    }
    const auto device = word.empty() ? Result<const Device*>(skip("")) : find_device(catalog, word, "");
    if (device) return *device;
    word.clear();
  }
  return nullptr;
}

/// By name, or the one whose longest alias is part of the description.
const Fabric* fabric_in(const std::string& text, const Catalog& catalog) {
  if (const auto exact = find_fabric(catalog, text, "")) return *exact;
  const std::string key = name_key(text);
  const Fabric* found = nullptr;
  std::size_t longest = kShortestAlias - 1;
  for (const Fabric& fabric : catalog.fabrics) {
    std::vector<std::string> names = fabric.aliases;
    names.push_back(fabric.name);
    for (const std::string& name : names) {
      const std::string part = name_key(name);
      if (part.size() <= longest || key.find(part) == std::string::npos) continue;
      longest = part.size();
      found = &fabric;
    }
  }
  return found;
}

std::int64_t whole(const std::string& text) {
  const auto v = parse_number(text);
  return v && *v >= 1 && *v <= kGpusMax && *v == std::floor(*v) ? static_cast<std::int64_t>(*v) : 0;
}

/// "2xNVL72 + IB": so many racks, each one NVLink domain.
std::int64_t racks_in(const std::string& network) {
  const std::size_t at = network.find("xNVL72");
  if (at == std::string::npos) return 1;
  std::size_t from = at;
  while (from > 0 && std::isdigit(static_cast<unsigned char>(network[from - 1])) != 0) --from;
  const std::int64_t racks = whole(network.substr(from, at - from));
  return racks > 0 ? racks : 1;
}

/// Ranks that share the device's own link.
std::int64_t joined(const CsvRow& row, const Device& device, std::int64_t ranks) {
  const std::int64_t told = whole(row["gpus_per_node"]);
  const std::int64_t node = told > 0 ? told : device.usual_gpus_per_node;
  const auto domain = static_cast<std::int64_t>(device.scale_up.domain_size.value.raw());
  if (domain <= device.usual_gpus_per_node) return std::min(node, domain);
  const std::int64_t racks = racks_in(row["network"]);
  return (ranks + racks - 1) / racks;
}

Result<Cluster> cluster_of(const CsvRow& row, const Device& device, const Catalog& catalog,
                           CollectiveRun& run) {
  const std::int64_t ranks = whole(row["ranks"]);
  if (ranks < 2) return skip("ranks are not told, or one only");
  const std::int64_t nodes = whole(row["nodes"]), held = whole(row["gpus_per_node"]);
  if (nodes > 0 && held > 0 && nodes * held != ranks) {
    return skip(row["ranks"] + " ranks on " + row["nodes"] + " nodes of " + row["gpus_per_node"] +
                " GPUs: they must be the same number");
  }
  Result<Cluster> built = usual_cluster(catalog, device, ranks, joined(row, device, ranks));
  if (!built) return skip(built.error().message);
  Cluster cluster = std::move(built).value();
  if (!cluster.collectives) return skip("no collective library is known for " + device.name);
  if (cluster.tiers.size() < 2) return cluster;
  const Fabric* fabric = fabric_in(row["network"], catalog);
  if (fabric == nullptr) {
    return skip(row["network"].empty() ? "several nodes, and the network is not told"
                                       : "no fabric is known as \"" + row["network"] + "\"");
  }
  run.fabric = fabric->name;
  Tier& network = cluster.tiers.back();
  network = fabric_tier(network.name, network.size, *fabric);
  return cluster;
}

/// Kernels beside the library, by the names that their callers give them.
void take_kernels(const std::string& library, CollectiveRun& run) {
  using Names = std::vector<std::pair<const char*, std::vector<CommAlgorithm>>>;
  static const Names kNames{{"mscclpp", {CommAlgorithm::kOneShot, CommAlgorithm::kTwoShot}},
                            {"ca_1stage", {CommAlgorithm::kOneShot}},
                            {"ca_2stage", {CommAlgorithm::kTwoShot}},
                            {"symm_mem_two_shot", {CommAlgorithm::kTwoShot}},
                            {"symm_mem_multimem", {CommAlgorithm::kMultimem}}};
  for (const auto& [name, kernels] : kNames) {
    if (library.find(name) != std::string::npos) run.kernels = kernels;
  }
  run.question.scope = {run.kernels.empty(), !run.kernels.empty()};
}

/// A cell that holds no positive number, and where it stands: cells hold no line ends.
std::string no_number(const CsvRow& row, const char* column, const char* what) {
  const std::string line = "line " + std::to_string(row.number + 2) + ": ";
  const std::string& text = row[column];
  return line +
         (text.empty() ? std::string("no ") + what : std::string(column) + " \"" + text + "\" is no " + what);
}

std::optional<std::string> set_apart(const CsvRow& row) {
  if (row["clean"] == "0") return "its source or its shape marks it as anomalous";
  if (row["tuned"] == "1") return "algorithm or channels were forced by hand";
  if (parse_number(row["wrong"]).value_or(0) != 0)
    return "its results were wrong: " + row["wrong"] + " of them";
  return std::nullopt;
}

}  // namespace

Result<CollectiveRun> read_collective_run(const CsvRow& row, const Catalog& catalog) {
  if (const auto reason = set_apart(row)) return skip(*reason);
  CollectiveRun run;
  CommQuestion& q = run.question;
  const auto collective = collective_of(row["collective"]);
  if (!collective) return skip("no collective named \"" + row["collective"] + "\"");
  q.collective = *collective;
  const auto size = parse_number(row["bytes"]), time = parse_number(row["time_us"]);
  if (!size || !kMessageLimits.hold(*size)) return skip(no_number(row, "bytes", "size in bytes"));
  if (!time || !(*time > 0)) return skip(no_number(row, "time_us", "positive time"));
  const Device* device = device_in(row["hardware"], catalog);
  if (device == nullptr) return skip("no GPU is known in \"" + row["hardware"] + "\"");
  Result<Cluster> cluster = cluster_of(row, *device, catalog, run);
  if (!cluster) return cluster.error();
  q.cluster = std::move(cluster).value();
  q.ranks = {ratio(static_cast<double>(q.cluster.gpus)), user_source("ranks")};
  q.size = {bytes(*size), user_source("bytes")};
  const auto launcher = launcher_named(row["launcher"]);
  if (!launcher && !row["launcher"].empty()) return skip("no launcher named \"" + row["launcher"] + "\"");
  q.launcher = launcher.value_or(Launcher::kNcclTests);
  if (!launcher) run.assumed.emplace_back("launched as by nccl-tests");
  q.launch = catalog.collectives.launchers[static_cast<std::size_t>(q.launcher)];
  take_kernels(row["lib"], run);
  if (!run.kernels.empty() && q.cluster.tiers.size() > 1)
    return skip("kernels beside the library join one domain");
  run.series = row["system"] + ", " + name(q.collective);
  run.citation = row["source"];
  run.gpu = device->name;
  run.measured = seconds(*time * kMicro);
  return run;
}

}  // namespace shardplan
