// The catalog: devices, fabrics, clusters, frameworks and model shapes by name. Every number names its
// source, or loading fails.
//
//   const Catalog& c = catalog();
//   Result<const Device*> d = find_device(c, "H100", "--gpu");   // name or alias, however it is spelt
//   (*d)->memory_reported.label();                               // "torch out-of-memory messages (measured)"
//   find_device(c, "h100-sxn", "--gpu").error().nearest;         // "h100-sxm"
//
// Not here: files that a person writes (cluster_file.h), flags (question.h).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/cluster.h"
#include "catalog/collective_tables.h"
#include "catalog/corpus.h"
#include "catalog/evidence.h"
#include "catalog/model.h"
#include "catalog/reliability.h"
#include "catalog/result.h"
#include "catalog/risk.h"
#include "catalog/serving_memory.h"
#include "catalog/serving_time.h"
#include "catalog/workload.h"
#include "import/embedded.h"

namespace shardplan {

/// A cluster by name, as catalog/clusters.json has it.
struct ClusterPreset {
  struct PresetTier {
    std::string name;
    std::int64_t size = 0;
    std::string fabric;  // of catalog/fabrics.json, or kScaleUpFabric
    Sourced<Ratio<>> oversubscription{ratio(1), {}};
  };
  std::string name;
  Source source;  // of the sizes: GPUs in a node, tiers, the usual whole
  std::vector<std::string> aliases;
  std::string description;
  std::string device;
  std::int64_t gpus = 0;
  std::vector<PresetTier> tiers;
};
/// In a preset or a cluster file: this tier is the device's own link (NVLink, xGMI, ICI).
inline constexpr const char* kScaleUpFabric = "scale_up";

/// A model shape by name. Read when asked for: there are many, and a question has one.
struct ModelEntry {
  std::string name;
  std::vector<std::string> aliases;  // hub ids among them
  Source source;
  std::string config;  // text of the config.json
  Result<Model> model() const;
};

/// The tables of catalog/collectives.json.
struct CollectiveTables {
  std::vector<CollectiveLibrary> libraries;
  std::vector<LinkGeneration> generations;
  std::array<Sourced<Seconds<>>, kLauncherCount> launchers{};  // added by each
};

struct Catalog {
  std::vector<Device> devices;
  std::vector<Fabric> fabrics;
  std::vector<Framework> frameworks;
  std::vector<Timing> timings;
  std::vector<BlockFormat> quantized_bases;
  std::vector<ClusterPreset> clusters;
  std::vector<ModelEntry> models;
  CollectiveTables collectives;
  Reliability reliability;  // of any cluster
  RiskFigures risk;
  std::vector<ServingTime> serving_times;  // by engine
  std::vector<ServingMemory> serving_memories;
  Corpus corpus;
  std::map<std::string, Source> sources;
  Evidence evidence;          // of training
  Evidence serving_evidence;  // of times of a token
  std::string digest;         // of all the texts, printed with every answer
};

/// Reads the texts named devices, fabrics, frameworks, clusters, models and sources; those named collectives,
/// timing, reliability, risk, serving_time, serving_memory, corpus and evidence_* where
/// they are there.
Result<Catalog> load_catalog(std::span<const EmbeddedFile> files);

/// The catalog that is compiled into the program, read once. One that does not load is a mistake in the
/// program.
const Catalog& catalog();

/// The catalog's files as a folder has them, in place of those that are compiled in.
Result<Catalog> read_catalog(const std::string& folder);

/// "H100_SXM 80GB" -> "h100-sxm-80gb": two names are the same when their keys are.
std::string name_key(std::string_view name);

/// By name or alias. The error names `where` (a flag, a path in a file) and the nearest name.
Result<const Device*> find_device(const Catalog& catalog, std::string_view name, std::string_view where);
Result<const Fabric*> find_fabric(const Catalog& catalog, std::string_view name, std::string_view where);
Result<const Framework*> find_framework(const Catalog& catalog, std::string_view name,
                                        std::string_view where);
/// A framework's constants of the step-time model by their own name: "megatron-lm-2021".
Result<const Timing*> find_timing(const Catalog& catalog, std::string_view name, std::string_view where);
Result<const ServingMemory*> find_serving_memory(const Catalog& catalog, std::string_view engine,
                                                 std::string_view where);
Result<const ServingTime*> find_serving_time(const Catalog& catalog, std::string_view engine,
                                             std::string_view where);
Result<const ClusterPreset*> find_cluster(const Catalog& catalog, std::string_view name,
                                          std::string_view where);
Result<const ModelEntry*> find_model(const Catalog& catalog, std::string_view name, std::string_view where);

/// The same hash on every machine: 16 hexadecimal digits, whatever the order of the files.
std::string catalog_digest(std::span<const EmbeddedFile> files);

}  // namespace shardplan
