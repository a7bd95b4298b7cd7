// load_catalog: the embedded json texts as catalog values. Order: sources first, since every number names
// one.
#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "import/catalog.h"
#include "import/catalog_figures.h"
#include "import/collective_tables.h"
#include "import/corpus.h"
#include "import/evidence.h"
#include "import/framework_engine.h"
#include "import/json_node.h"
#include "import/json_text.h"
#include "import/sourced_json.h"

namespace shardplan {
namespace {

constexpr std::int64_t kMostGpus = 1 << 24;

/// {"bf16": number, "fp8": number} into an array by precision.
template <class Q>
auto read_by_precision(const JsonNode& node, const Sources& sources, double low, double high) {
  std::array<std::optional<Sourced<Q>>, kPrecisionCount> numbers;
  for (const auto& [key, value] : node.members()) {
    const auto precision = precision_named(key);
    if (!precision) value.fail("unknown_name", "no precision named \"" + key + "\"", "fp32, tf32, bf16, ...");
    if (precision) numbers[static_cast<std::size_t>(*precision)] = read_sourced<Q>(value, sources, low, high);
  }
  return numbers;
}

// Sources ---------------------------------------------------------------------------------------------------

Source read_source(const JsonNode& node, const std::string& id) {
  node.allow_only({"kind", "title", "ref", "date", "note"});
  Source source;
  source.id = id;
  const std::string kind = node.at("kind").text();
  const auto known = source_kind_named(kind);
  if (!known) {
    node.find("kind").fail("unknown_name", "no kind of source \"" + kind + "\"", "datasheet, measured, ...");
  }
  source.kind = known.value_or(SourceKind::kAssumed);
  source.title = node.at("title").text();
  source.ref = node.at("ref").text();
  source.date = node.at("date").text();
  if (const JsonNode note = node.find("note")) source.note = note.text();
  return source;
}

void read_sources(const JsonNode& root, Catalog& catalog) {
  root.allow_only({"sources"});
  for (const auto& [id, node] : root.at("sources").members()) catalog.sources[id] = read_source(node, id);
}

// Devices and fabrics ---------------------------------------------------------------------------------------

/// {"pod": [16, 20, 28], "cube": 4, "source": ...}; two axes and no cube where no switch joins slices.
TorusPod read_torus(const JsonNode& node, const Sources& sources) {
  node.allow_only({"pod", "cube", "source", "note"});
  TorusPod pod;
  const std::vector<JsonNode> extents = node.at("pod").items();
  if (extents.size() != 2 && extents.size() != kTorusAxes) {
    node.find("pod").fail("out_of_range", std::to_string(extents.size()) + " axes", "two or three");
    return pod;
  }
  for (std::size_t i = 0; i < extents.size(); ++i) pod.extents[i] = extents[i].integer(2, kMostGpus);
  if (const JsonNode cube = node.find("cube")) pod.cube = cube.integer(1, kMostGpus);
  pod.source = read_source_id(node.at("source"), sources);
  if (const JsonNode note = node.find("note")) pod.source.note = note.text();
  return pod;
}

ScaleUp read_scale_up(const JsonNode& node, const Sources& sources) {
  node.allow_only({"kind", "domain_size", "bandwidth_bytes_per_s", "achieved_bandwidth_bytes_per_s",
                   "latency_s", "torus"});
  ScaleUp link;
  const std::string kind = node.at("kind").text();
  bool known = false;
  for (const ScaleUpKind k :
       {ScaleUpKind::kSwitch, ScaleUpKind::kMesh, ScaleUpKind::kTorus, ScaleUpKind::kPcie}) {
    if (kind != name(k)) continue;
    link.kind = k;
    known = true;
  }
  if (!known)
    node.find("kind").fail("unknown_name", "no kind of link \"" + kind + "\"", "switch, mesh, torus or pcie");
  link.domain_size = read_sourced<Ratio<>>(node.at("domain_size"), sources, 1, kMostGpus);
  link.bandwidth = read_positive<BytesPerSecond<>>(node.at("bandwidth_bytes_per_s"), sources);
  link.achieved_bandwidth =
      read_positive<BytesPerSecond<>>(node.at("achieved_bandwidth_bytes_per_s"), sources);
  link.latency = read_sourced<Seconds<>>(node.at("latency_s"), sources, 0);
  if (link.kind == ScaleUpKind::kTorus) link.torus = read_torus(node.at("torus"), sources);
  return link;
}

Efficiency read_efficiency(const JsonNode& node, const Sources& sources) {
  node.allow_only({"gemm", "gemm_k_half", "attention", "memory", "kernel_launch_s", "contention"});
  Efficiency e;
  e.gemm = read_by_precision<Ratio<>>(node.at("gemm"), sources, 1e-6, 1.0);
  e.gemm_k_half = read_by_precision<Ratio<>>(node.at("gemm_k_half"), sources, 0, kNoLimit);
  e.attention = read_share(node.at("attention"), sources);
  e.memory = read_share(node.at("memory"), sources);
  e.kernel_launch = read_sourced<Seconds<>>(node.at("kernel_launch_s"), sources, 0);
  e.contention = read_sourced<Ratio<>>(node.at("contention"), sources, 0);
  return e;
}

Device read_device(const JsonNode& node, const Sources& sources) {
  node.allow_only({"name", "aliases", "vendor", "architecture", "note", "memory_sold_bytes",
                   "memory_reported_bytes", "memory_bandwidth_bytes_per_s", "peak_flops", "scale_up",
                   "pcie_bandwidth_bytes_per_s", "sm_count", "efficiency", "usual_fabric",
                   "usual_gpus_per_node", "ideal"});
  Device d;
  d.name = node.at("name").text();
  d.aliases = node.at("aliases").texts();
  d.vendor = node.at("vendor").text();
  d.architecture = node.at("architecture").text();
  if (const JsonNode note = node.find("note")) d.note = note.text();
  d.memory_sold = read_positive<Bytes<>>(node.at("memory_sold_bytes"), sources);
  d.memory_reported = read_positive<Bytes<>>(node.at("memory_reported_bytes"), sources);
  d.memory_bandwidth = read_positive<BytesPerSecond<>>(node.at("memory_bandwidth_bytes_per_s"), sources);
  d.peak = read_by_precision<FlopsPerSecond<>>(node.at("peak_flops"), sources, 1, kNoLimit);
  d.scale_up = read_scale_up(node.at("scale_up"), sources);
  if (const JsonNode pcie = node.find("pcie_bandwidth_bytes_per_s")) {
    d.pcie_bandwidth = read_positive<BytesPerSecond<>>(pcie, sources);
  }
  if (const JsonNode sms = node.find("sm_count")) d.sm_count = read_positive<Ratio<>>(sms, sources);
  d.efficiency = read_efficiency(node.at("efficiency"), sources);
  if (const JsonNode ideal = node.find("ideal")) d.ideal = ideal.boolean();
  d.usual_fabric = node.at("usual_fabric").text();
  d.usual_gpus_per_node = node.at("usual_gpus_per_node").integer(1, kMostGpus);
  return d;
}

void read_devices(const JsonNode& root, Catalog& catalog) {
  root.allow_only({"devices"});
  for (const JsonNode& node : root.at("devices").items()) {
    catalog.devices.push_back(read_device(node, catalog.sources));
    const std::string& fabric = catalog.devices.back().usual_fabric;
    if (fabric.empty()) continue;
    const auto known = find_fabric(catalog, fabric, "");
    if (!known) {
      node.find("usual_fabric")
          .fail("unknown_name", known.error().message, known.error().expected, known.error().nearest);
    }
  }
}

void read_fabrics(const JsonNode& root, Catalog& catalog) {
  root.allow_only({"fabrics"});
  for (const JsonNode& node : root.at("fabrics").items()) {
    node.allow_only({"name", "aliases", "description", "bandwidth_bytes_per_s", "efficiency", "latency_s",
                     "gpus_per_nic"});
    Fabric f;
    f.name = node.at("name").text();
    f.aliases = node.at("aliases").texts();
    f.description = node.at("description").text();
    f.bandwidth = read_positive<BytesPerSecond<>>(node.at("bandwidth_bytes_per_s"), catalog.sources);
    f.efficiency = read_share(node.at("efficiency"), catalog.sources);
    f.latency = read_sourced<Seconds<>>(node.at("latency_s"), catalog.sources, 0);
    if (const JsonNode nic = node.find("gpus_per_nic"))
      f.gpus_per_nic = read_positive<Ratio<>>(nic, catalog.sources);
    catalog.fabrics.push_back(f);
  }
}

// Clusters and models ---------------------------------------------------------------------------------------

ClusterPreset::PresetTier read_preset_tier(const JsonNode& node, bool outermost, const Catalog& catalog) {
  node.allow_only({"name", "size", "fabric", "oversubscription"});
  ClusterPreset::PresetTier tier;
  tier.name = node.at("name").text();
  // The outermost tier may leave its size out: it grows with the number of GPUs asked for.
  const JsonNode size = outermost ? node.find("size") : node.at("size");
  if (size) tier.size = size.integer(1, kMostGpus);
  const JsonNode fabric = node.at("fabric");
  tier.fabric = fabric.text();
  if (const JsonNode over = node.find("oversubscription")) {
    tier.oversubscription = read_sourced<Ratio<>>(over, catalog.sources, 1);
  }
  if (tier.fabric == kScaleUpFabric) return tier;
  const auto known = find_fabric(catalog, tier.fabric, "");
  if (!known)
    fabric.fail("unknown_name", known.error().message, known.error().expected, known.error().nearest);
  return tier;
}

void read_clusters(const JsonNode& root, Catalog& catalog) {
  root.allow_only({"clusters"});
  for (const JsonNode& node : root.at("clusters").items()) {
    node.allow_only({"name", "source", "aliases", "description", "device", "gpus", "tiers"});
    ClusterPreset c;
    c.name = node.at("name").text();
    c.source = read_source_id(node.at("source"), catalog.sources);
    c.aliases = node.at("aliases").texts();
    c.description = node.at("description").text();
    c.device = node.at("device").text();
    c.gpus = node.at("gpus").integer(1, kMostGpus);
    const auto device = find_device(catalog, c.device, "");
    if (!device) node.find("device").fail("unknown_name", device.error().message, "", device.error().nearest);
    const std::vector<JsonNode> tiers = node.at("tiers").items();
    if (tiers.empty()) node.find("tiers").fail("missing_field", "no tiers", "at least one tier");
    for (const JsonNode& tier : tiers) {
      c.tiers.push_back(read_preset_tier(tier, &tier == &tiers.back(), catalog));
    }
    catalog.clusters.push_back(c);
  }
}

void read_models(const JsonNode& root, Catalog& catalog) {
  root.allow_only({"models"});
  for (const JsonNode& node : root.at("models").items()) {
    node.allow_only({"name", "aliases", "source", "config", "note"});
    ModelEntry m;
    m.name = node.at("name").text();
    m.aliases = node.at("aliases").texts();
    // A shape has a source of its own, written beside it.
    m.source = read_source(node.at("source"), m.name);
    const JsonNode config = node.at("config");
    if (config.is_object()) m.config = config.json()->dump();
    if (config && !config.is_object()) m.config = config.text();
    catalog.models.push_back(m);
  }
}

// Frameworks ------------------------------------------------------------------------------------------------

void read_sharding(const JsonNode& node, const Sources& sources, Framework& f) {
  for (const JsonNode& stage : node.at("zero_stages").items()) {
    f.zero[static_cast<std::size_t>(stage.integer(0, 3))].allowed = true;
  }
  for (const auto& [stage, parts] : node.at("sharded").members()) {
    if (stage.size() != 1 || stage[0] < '0' || stage[0] > '3')
      parts.fail("out_of_range", "no ZeRO stage", "0 to 3");
    Framework::Sharding& sharding = f.zero[static_cast<std::size_t>(stage[0] - '0') & 3U];
    for (const JsonNode& part : parts.items()) {
      const std::string what = part.text();
      if (what == "weights")
        sharding.weights = true;
      else if (what == "gradients")
        sharding.gradients = true;
      else if (what == "optimizer")
        sharding.optimizer = true;
      else
        part.fail("unknown_name", "nothing to shard is named \"" + what + "\"",
                  "weights, gradients or optimizer");
    }
  }
  if (const JsonNode id = node.find("sharding_source")) f.sharding_source = read_source_id(id, sources);
}

/// An optimizer names the bytes of its moments, and the other widths only where they differ from the
/// framework's.
void read_optimizers(const JsonNode& node, const Sources& sources, const StateBytes& usual, Framework& f) {
  for (int i = 0; i < kOptimizerCount; ++i) {
    const JsonNode entry = node.at(name(static_cast<Optimizer>(i)));
    StateBytes& state = f.state[static_cast<std::size_t>(i)];
    state = usual;
    state.moments = read_number<Bytes<>>(entry, sources, 0, kNoLimit);
    if (!entry.is_object()) continue;
    entry.allow_only({"value", "source", "note", "weight_bytes", "gradient_bytes", "master_bytes"});
    const auto change = [&](const char* key, Sourced<Bytes<>>& width) {
      if (const JsonNode changed = entry.find(key)) width = read_sourced<Bytes<>>(changed, sources, 0);
    };
    change("weight_bytes", state.weight);
    change("gradient_bytes", state.gradient);
    change("master_bytes", state.master);
  }
}

Framework::ExtraGradient read_extra_gradient(const JsonNode& node, const Sources& sources) {
  using When = Framework::ExtraGradient::When;
  if (node.is_object()) node.allow_only({"value", "source", "note", "sharded_from_stage", "when"});
  Framework::ExtraGradient extra;
  extra.bytes = read_number<Bytes<>>(node, sources, 0, kNoLimit);
  if (const JsonNode stage = node.find("sharded_from_stage")) {
    extra.sharded_from_stage = static_cast<int>(stage.integer(0, 3));
  }
  const JsonNode when = node.find("when");
  const std::string condition = when ? when.text() : "";
  if (condition == "bf16")
    extra.when = When::kBf16;
  else if (condition == "dp > 1")
    extra.when = When::kDataParallel;
  else if (when)
    when.fail("unknown_name", "unknown condition \"" + condition + "\"", R"("bf16" or "dp > 1")");
  return extra;
}

/// Of PyTorch's matrix library, the same under every framework.
struct LibraryWorkspaces {
  Sourced<Bytes<>> before_hopper, since_hopper;
};

void read_quantized(const JsonNode& node, const Sources& sources, Framework::Buffers& buffers) {
  std::vector<const char*> names;
  names.reserve(kPrecisionRecipeCount);
  for (int i = 0; i < kPrecisionRecipeCount; ++i) names.push_back(name(static_cast<PrecisionRecipe>(i)));
  node.allow_only(names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const JsonNode recipe = node.find(names[i]);
    if (!recipe) continue;
    recipe.allow_only({"weight_copies_bytes", "product_input_bytes"});
    buffers.quantized[i] = {read_sourced<Bytes<>>(recipe.at("weight_copies_bytes"), sources, 0),
                            read_sourced<Bytes<>>(recipe.at("product_input_bytes"), sources, 0)};
  }
}

Framework::Buffers read_buffers(const JsonNode& node, const LibraryWorkspaces& library,
                                const Sources& sources) {
  node.allow_only({"logit_bytes", "split_logit_bytes", "compiled_logit_bytes", "selective_products",
                   "placeholder_gradients", "sequence_gather", "gated_copies", "gathered_column_inputs",
                   "vocabulary_multiple", "workspaces", "grouped_workspaces", "stage_outputs",
                   "receive_buffers", "precision_recipes", "step_bytes", "reduce_bucket_bytes",
                   "bucket_multiple", "shard_multiple"});
  Framework::Buffers buffers;
  const auto take = [&](const char* key, auto& into) {
    using Q = std::decay_t<decltype(into.value)>;
    if (const JsonNode value = node.find(key)) into = read_sourced<Q>(value, sources, 0);
  };
  take("logit_bytes", buffers.logit);
  if (const JsonNode split = node.find("split_logit_bytes")) {
    buffers.split_logit = read_sourced<Bytes<>>(split, sources, 0);
  }
  if (const JsonNode compiled = node.find("compiled_logit_bytes")) {
    buffers.compiled_logit = read_sourced<Bytes<>>(compiled, sources, 0);
  }
  take("selective_products", buffers.selective_products);
  take("placeholder_gradients", buffers.placeholder_gradients);
  take("sequence_gather", buffers.sequence_gather);
  take("gated_copies", buffers.gated_copies);
  take("gathered_column_inputs", buffers.gathered_column_inputs);
  take("vocabulary_multiple", buffers.vocabulary_multiple);
  take("grouped_workspaces", buffers.grouped_workspaces);
  if (const JsonNode recipes = node.find("precision_recipes")) read_quantized(recipes, sources, buffers);
  take("stage_outputs", buffers.stage_outputs);
  take("receive_buffers", buffers.received);
  take("step_bytes", buffers.step);
  take("reduce_bucket_bytes", buffers.reduce_bucket);
  take("bucket_multiple", buffers.bucket_multiple);
  take("shard_multiple", buffers.shard_multiple);
  if (const JsonNode all = node.find("workspaces")) {
    all.allow_only({"before_hopper", "since_hopper"});
    // The framework's own stand in a field of its generation, where it has any.
    const auto read = [&](const char* generation, const Sourced<Bytes<>>& shared) {
      Framework::Buffers::Workspaces both{shared, {bytes(0), shared.source}};
      if (const JsonNode one = all.find(generation)) {
        one.allow_only({"engine_bytes"});
        both.engine = read_sourced<Bytes<>>(one.at("engine_bytes"), sources, 0);
      }
      return both;
    };
    buffers.before_hopper = read("before_hopper", library.before_hopper);
    buffers.since_hopper = read("since_hopper", library.since_hopper);
  }
  return buffers;
}

Framework::HostOffload read_offload(const JsonNode& node, const Sources& sources) {
  node.allow_only({"gradient_bytes", "gradients_leave_from", "parameters", "only_with_parameters"});
  Framework::HostOffload offload;
  offload.gradient = read_sourced<Bytes<>>(node.at("gradient_bytes"), sources, 0);
  if (const JsonNode stage = node.find("gradients_leave_from"))
    offload.gradients_leave_from = static_cast<int>(stage.integer(0, 3));
  if (const JsonNode can = node.find("parameters")) offload.parameters = can.boolean();
  if (const JsonNode only = node.find("only_with_parameters")) offload.only_with_parameters = only.boolean();
  return offload;
}

void read_quantized_bases(const JsonNode& root, Catalog& catalog) {
  for (const JsonNode& node : root.items()) {
    node.allow_only({"name", "bits", "block", "scale_bits", "scales_block", "second_scale_bits"});
    BlockFormat format;
    format.name = node.at("name").text();
    const auto read = [&](const char* key) {
      return read_sourced<Ratio<>>(node.at(key), catalog.sources, 0);
    };
    format.bits = read("bits");
    format.block = read("block");
    format.scale_bits = read("scale_bits");
    if (node.find("scales_block")) {
      format.scales_block = read("scales_block");
      format.second_scale_bits = read("second_scale_bits");
    }
    catalog.quantized_bases.push_back(format);
  }
}

void read_frameworks(const JsonNode& root, Catalog& catalog) {
  root.allow_only({"frameworks", "allocator", "library_workspaces", "host", "quantized_bases"});
  const JsonNode workspaces = root.at("library_workspaces");
  workspaces.allow_only({"before_hopper_bytes", "since_hopper_bytes"});
  const LibraryWorkspaces library{
      read_sourced<Bytes<>>(workspaces.at("before_hopper_bytes"), catalog.sources, 0),
      read_sourced<Bytes<>>(workspaces.at("since_hopper_bytes"), catalog.sources, 0)};
  const JsonNode host = root.at("host");
  host.allow_only({"adam_parameters_per_s"});
  read_quantized_bases(root.at("quantized_bases"), catalog);
  const JsonNode shared = root.at("allocator");
  shared.allow_only({"slack", "expandable_slack", "context_bytes", "communication_bytes"});
  const Framework::Allocator allocator{
      read_sourced<Ratio<>>(shared.at("slack"), catalog.sources, 0, 1),
      read_sourced<Ratio<>>(shared.at("expandable_slack"), catalog.sources, 0, 1),
      read_sourced<Bytes<>>(shared.at("context_bytes"), catalog.sources, 0),
      read_sourced<Bytes<>>(shared.at("communication_bytes"), catalog.sources, 0)};
  for (const JsonNode& node : root.at("frameworks").items()) {
    node.allow_only({"name", "description", "weight_bytes", "gradient_bytes", "master_bytes", "optimizers",
                     "zero_stages", "sharded", "sharding_source", "gathered_weight_bytes",
                     "extra_gradient_bytes", "pipeline_keeps_gathered", "buffers", "offload", "engine"});
    Framework f;
    f.allocator = allocator;
    f.host.adam = read_positive<PerSecond<>>(host.at("adam_parameters_per_s"), catalog.sources);
    f.name = node.at("name").text();
    f.description = node.at("description").text();
    StateBytes usual;
    usual.weight = read_positive<Bytes<>>(node.at("weight_bytes"), catalog.sources);
    usual.gradient = read_positive<Bytes<>>(node.at("gradient_bytes"), catalog.sources);
    usual.master = read_sourced<Bytes<>>(node.at("master_bytes"), catalog.sources, 0);
    read_optimizers(node.at("optimizers"), catalog.sources, usual, f);
    read_sharding(node, catalog.sources, f);
    if (const JsonNode gathered = node.find("gathered_weight_bytes")) {
      f.gathered_weight_bytes = read_positive<Bytes<>>(gathered, catalog.sources);
    }
    if (const JsonNode extra = node.find("extra_gradient_bytes")) {
      f.extra_gradient = read_extra_gradient(extra, catalog.sources);
    }
    if (const JsonNode id = node.find("pipeline_keeps_gathered")) {
      f.pipeline_keeps_gathered = read_source_id(id, catalog.sources);
    }
    if (const JsonNode offload = node.find("offload")) f.offload = read_offload(offload, catalog.sources);
    if (const JsonNode engine = node.find("engine")) f.engine = read_engine(engine, catalog.sources);
    if (const JsonNode buffers = node.find("buffers"))
      f.buffers = read_buffers(buffers, library, catalog.sources);
    catalog.frameworks.push_back(f);
  }
}

// Constants of the step-time model --------------------------------------------------------------------------

/// The numbers of an object by the keys that `visit` names; those that are not there stay as they are.
template <class Constants, class Visit>
void read_constants(const JsonNode& node, const Sources& sources, std::vector<const char*> others,
                    Constants& constants, Visit visit) {
  visit(constants, [&](const char* key, auto& field) {
    using Q = std::decay_t<decltype(field.value)>;
    others.push_back(key);
    if (const JsonNode value = node.find(key)) field = read_sourced<Q>(value, sources, 0);
  });
  node.allow_only(others);
}

void read_law(const JsonNode& node, std::vector<const char*> others, const Sources& sources, KernelLaw& law) {
  read_constants(node, sources, std::move(others), law, [](auto& l, auto field) { visit_law(l, field); });
}

/// Laws are shared by all devices but the ideal ones; an architecture's own entry comes on top.
void read_kernels(const JsonNode& node, Catalog& catalog) {
  node.allow_only({"all", "by_architecture"});
  KernelLaw shared;
  read_law(node.at("all"), {}, catalog.sources, shared);
  std::map<std::string, KernelLaw> by_architecture;
  for (const JsonNode& own : node.at("by_architecture").items()) {
    KernelLaw law = shared;
    read_law(own, {"architectures"}, catalog.sources, law);
    for (const std::string& name : own.at("architectures").texts()) by_architecture[name] = law;
  }
  for (Device& device : catalog.devices) {
    if (device.ideal) continue;
    const auto own = by_architecture.find(device.architecture);
    device.law = own == by_architecture.end() ? shared : own->second;
  }
}

void read_timing(const JsonNode& root, Catalog& catalog) {
  root.allow_only({"kernels", "frameworks"});
  read_kernels(root.at("kernels"), catalog);
  for (const JsonNode& node : root.at("frameworks").items()) {
    Timing t;
    t.name = node.at("name").text();
    t.framework = node.at("framework").text();
    t.description = node.at("description").text();
    if (const JsonNode usual = node.find("usual")) t.usual = usual.boolean();
    read_constants(node, catalog.sources, {"name", "framework", "description", "usual"}, t,
                   [](auto& timing, auto field) { visit_timing(timing, field); });
    catalog.timings.push_back(t);
    const auto known = std::find_if(catalog.frameworks.begin(), catalog.frameworks.end(),
                                    [&](const Framework& f) { return f.name == t.framework; });
    if (known == catalog.frameworks.end()) {
      node.find("framework")
          .fail("unknown_name", "no framework named \"" + t.framework + "\"", "one of frameworks.json");
    } else if (t.usual) {
      known->timing = t;
    }
  }
}

// The whole -------------------------------------------------------------------------------------------------

void read_measured(const JsonNode& root, Catalog& catalog) { read_evidence(root, catalog.evidence); }
void read_served(const JsonNode& root, Catalog& catalog) { read_evidence(root, catalog.serving_evidence); }

void read_collectives(const JsonNode& root, Catalog& catalog) {
  read_collective_tables(root, catalog.sources, catalog.collectives);
}

void read_published_runs(const JsonNode& root, Catalog& catalog) {
  read_corpus(root, catalog.sources, catalog.corpus);
}

struct Section {
  const char* file;
  void (*read)(const JsonNode& root, Catalog& catalog);
  bool optional = false;
};
// Each may refer to those above it.
constexpr std::array<Section, 16> kSections{{{"sources", read_sources},
                                             {"fabrics", read_fabrics},
                                             {"devices", read_devices},
                                             {"clusters", read_clusters},
                                             {"collectives", read_collectives, true},
                                             {"frameworks", read_frameworks},
                                             {"timing", read_timing, true},
                                             {"reliability", read_reliability, true},
                                             {"risk", read_risk, true},
                                             {"serving_time", read_serving_time, true},
                                             {"serving_memory", read_serving_memory, true},
                                             {"corpus", read_published_runs, true},
                                             {"models", read_models},
                                             {"evidence_time", read_measured, true},
                                             {"evidence_memory", read_measured, true},
                                             {"evidence_serving", read_served, true}}};

std::optional<Error> read_section(const Section& section, std::span<const EmbeddedFile> files,
                                  Catalog& catalog) {
  const std::string where = std::string("catalog ") + section.file;
  for (const EmbeddedFile& file : files) {
    if (std::string_view(file.name) != section.file) continue;
    const Result<nlohmann::json> json = parse_json(file.text, where);
    if (!json) return json.error();
    ReadLog log{where, {}};
    section.read(JsonNode(&json.value(), "", &log), catalog);
    return log.error;
  }
  if (section.optional) return std::nullopt;
  return Error{"missing_file", "no " + where, where, std::string(section.file) + ".json", ""};
}

/// Two entries of a kind must not answer to one name; one entry may list a spelling twice.
template <class Entry, class Aliases>
std::optional<Error> check_names(const std::vector<Entry>& entries, const char* noun, Aliases aliases) {
  std::map<std::string, std::size_t> owners;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    std::vector<std::string> names = aliases(entries[i]);
    names.push_back(entries[i].name);
    for (const std::string& name : names) {
      const auto [at, added] = owners.emplace(name_key(name), i);
      if (added || at->second == i) continue;
      return Error{"duplicate_name",
                   "\"" + name + "\" names both " + entries[at->second].name + " and " + entries[i].name,
                   std::string("catalog ") + noun, "a name or alias of one entry only", ""};
    }
  }
  return std::nullopt;
}

}  // namespace

Result<Catalog> load_catalog(std::span<const EmbeddedFile> files) {
  Catalog catalog;
  for (const Section& section : kSections) {
    if (auto error = read_section(section, files, catalog)) return *error;
  }
  const auto aliases = [](const auto& entry) { return entry.aliases; };
  for (const auto& error :
       {check_names(catalog.devices, "devices", aliases), check_names(catalog.fabrics, "fabrics", aliases),
        check_names(catalog.clusters, "clusters", aliases), check_names(catalog.models, "models", aliases),
        check_names(catalog.frameworks, "frameworks",
                    [](const Framework&) { return std::vector<std::string>(); })}) {
    if (error) return *error;
  }
  catalog.digest = catalog_digest(files);
  return catalog;
}

}  // namespace shardplan
