// A row's framework, cluster, plan, precision and recomputation.
#include "validate/training_run.h"

#include <algorithm>
#include <cmath>

#include "import/cluster_build.h"
#include "units/format.h"
#include "validate/run_reading.h"

namespace shardplan {
namespace {

bool holds(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

/// "full", "full uniform 2 layers", "full block 4 layers", "selective (core attention)", "selective modules
/// [moe_act mlp]", "selective (mla_up_proj, mlp)".
std::optional<Recompute> recompute_of(std::string text) {
  constexpr std::string_view kUniform = "full uniform ", kBlock = "full block ";
  if (text == "selective (core attention)" || text.starts_with("selective AC") || text == "selective op")
    return Recompute::kSelective;
  for (const auto& [prefix, kind] : {std::pair{kUniform, "uniform:"}, {kBlock, "full:"}}) {
    if (!text.starts_with(prefix)) continue;
    const std::size_t end = text.find(' ', prefix.size());
    const auto count = parse_number(text.substr(prefix.size(), end - prefix.size()));
    return count ? recompute_named(kind + format_number(*count)) : std::nullopt;
  }
  if (text == "full" || text.starts_with("full (")) return Recompute::kFull;
  const std::size_t open = text.find_first_of("[("), close = text.find_last_of("])");
  if (!text.starts_with("selective") || open == std::string::npos || close == std::string::npos) return {};
  text = text.substr(open + 1, close - open - 1);
  std::string modules;
  for (const char c : text) {
    if (c != ' ') modules += c;
    if (c == ' ' && !modules.empty() && modules.back() != ',') modules += ',';
  }
  return recompute_named(modules);
}

/// GPUs that a job takes of each scale-up domain: schedulers give equal shares, 64 of 72 to a job of 256.
std::int64_t equal_share(std::int64_t gpus, std::int64_t domain) {
  std::int64_t share = domain;
  while (gpus % share != 0) --share;
  return share;
}

}  // namespace

std::int64_t RunReading::column(const char* name, std::int64_t otherwise) {
  const std::string& text = row_[name];
  if (text.empty()) return otherwise;
  constexpr double kMost = 1e12;
  const auto value = parse_number(text);
  if (value && *value == std::floor(*value) && *value > 0 && *value < kMost)
    return static_cast<std::int64_t>(*value);
  skip(std::string(name) + " is \"" + text + "\", not a positive whole number");
  return otherwise;
}

std::int64_t RunReading::needed(const char* name) {
  const std::int64_t value = column(name, 0);
  if (value == 0) skip(std::string(name) + " is not printed");
  return value;
}

std::int64_t RunReading::argument(const char* name, std::int64_t otherwise) {
  const auto value = args_.number(name, otherwise);
  if (!value) skip(std::string("--") + name + " is \"" + args_.text(name) + "\", not a whole number");
  return value.value_or(otherwise);
}

/// NeMo's performance recipes adapt the projections into attention only
/// (nemo/collections/llm/recipes/llama3_8b.py: peft.target_modules). The rank is not printed and matters
/// little.
void RunReading::take_adapters() {
  const auto rank = static_cast<std::int64_t>(corpus().adapter_rank.value.raw());
  run_.question.workload.adapters = {.rank = rank, .targets = targets::kProjections, .base = {}};
  run_.features.emplace_back("lora");
  gap("the rank of the adapters is not printed");
  assume("adapters of rank " + std::to_string(rank) + " beside the query, key and value projections");
}

void RunReading::take_framework() {
  const std::string& text = row_["framework"];
  const CorpusFramework* known = corpus().framework_of(text);
  if (known == nullptr) return skip("framework " + text + " is not modelled");
  const std::string& task = row_["task"];
  const bool nemo = text.starts_with("NeMo");
  if (task == "lora" && nemo) {
    take_adapters();
  } else if (!task.empty() && task != "pretrain" && !task.starts_with("sft")) {
    return skip("task " + task + " is not modelled yet");
  }
  run_.framework = known->framework;
  const auto found = find_framework(catalog_, run_.framework, "framework");
  if (found) run_.question.framework = **found;
  if (!known->timing.empty()) {
    const auto timing = find_timing(catalog_, known->timing, "timing");
    if (timing) run_.question.framework.timing = **timing;
  }
  if (!known->memory_gap.empty()) gap("framework " + text + ": " + known->memory_gap);
}

void RunReading::take_cluster() {
  run_.gpu = row_["gpu"];
  const std::int64_t gpus = row_["gpus"].empty() ? 0 : needed("gpus");
  if (row_["gpus"].empty()) return skip("the GPU count is blank");
  const auto device = find_device(catalog_, run_.gpu, "gpu");
  if (!device) return skip(device.error().message);
  if (gpus == 0) return;
  std::optional<std::int64_t> node;
  if (!row_["gpus_per_node"].empty()) node = needed("gpus_per_node");
  if (node && *node == 0) return;
  Device hardware = **device;
  for (const CorpusFabric& named : corpus().fabrics) {
    if (run_.source == named.source_key) hardware.usual_fabric = named.fabric;
  }
  const auto domain = static_cast<std::int64_t>(hardware.scale_up.domain_size.value.raw());
  const bool boards = domain > hardware.usual_gpus_per_node && node.value_or(domain) < domain;
  if (boards && gpus > domain && gpus % domain != 0) {
    node = equal_share(gpus, domain);
    assume(std::to_string(*node) + " GPUs of each scale-up domain of " + std::to_string(domain));
  }
  Result<Cluster> cluster = usual_cluster(catalog_, hardware, gpus, node);
  if (!cluster) return skip(cluster.error().message);
  run_.question.cluster = std::move(cluster).value();
}

void RunReading::take_sharding() {
  const std::string& text = row_["sharding"];
  Plan& p = run_.plan;
  int stage = corpus().framework_of(row_["framework"])->zero_stage.value_or(-1);
  if (text.empty() || text == "ddp (FSDP=0)") {
    if (stage < 0) return skip("the sharding is not printed");
    assume("ZeRO stage " + std::to_string(stage) + ": the source does not print the sharding");
  } else if (holds(text, "distributed optimizer") || holds(text, "distopt") || holds(text, "zero1")) {
    stage = 1;
  } else if (holds(text, "SHARD_GRAD_OP") || holds(text, "zero2") || holds(text, "zero-2")) {
    stage = 2;
  } else if (holds(text, "zero3") || holds(text, "FULL_SHARD") || holds(text, "fsdp")) {
    stage = 3;
  } else if (holds(text, "stage not printed")) {
    return skip("the ZeRO stage is not printed");
  } else if (text.starts_with("none") || text.starts_with("ddp") || text.starts_with("dp") ||
             text == "zero0") {
    stage = 0;
  } else {
    stage = 0;
    assume("nothing is sharded: \"" + text + "\" names no stage");
  }
  if (p.dp * p.cp == 1) stage = 0;  // nothing to shard over
  p.zero_stage = static_cast<std::int8_t>(stage);
  // Megatron-Bridge scripts/performance, the presets with use_megatron_fsdp: cpu_offloading_num_layers 10
  // to 40.
  const bool recipe =
      row_["framework"].starts_with("NeMo") || row_["framework"].starts_with("Megatron-Bridge");
  if (stage == 3 && recipe)
    gap("recipes of full sharding offload activations, of layers that are not printed");
  const std::int64_t instances = argument("num-distributed-optimizer-instances", 1);
  const std::int64_t replicas = std::int64_t{p.dp} * p.cp;
  if (stage > 0 && instances > 1 && replicas % instances == 0)
    p.shard_group = static_cast<std::int32_t>(replicas / instances);
  // "zero1 over 8 GPUs": the optimizer's shards are spread over so many ranks, and repeated.
  if (const std::size_t at = text.find("zero1 over "); at != std::string::npos && !holds(text, "all dp")) {
    const std::int64_t over = std::atoll(text.c_str() + at + std::string("zero1 over ").size());
    if (over > 1 && over < replicas && replicas % over == 0) p.shard_group = static_cast<std::int32_t>(over);
  }
  if (!run_.question.framework.zero[static_cast<std::size_t>(stage)].allowed) {
    skip("ZeRO stage " + std::to_string(stage) + " is none of " + run_.framework);
  }
}

void RunReading::take_sequence_parallel() {
  const std::string& text = row_["sequence_parallel"];
  Plan& p = run_.plan;
  if (!text.empty() && text != "0" && text != "1") {
    return skip("sequence_parallel is \"" + text + "\", neither 0 nor 1");
  }
  if (p.tp == 1) return;
  if (told_ || !text.empty()) {
    p.sequence_parallel = args_.has("sequence-parallel") || text == "1";
    return;
  }
  p.sequence_parallel = corpus().framework_of(row_["framework"])->sequence_parallel;
  assume(p.sequence_parallel ? "sequence parallel, as tp > 1" : "no sequence parallelism");
}

/// torchtitan cuts a rank's batch into as many micro-batches as pipeline stages, unless it is told otherwise.
void RunReading::take_micro_batch() {
  Plan& p = run_.plan;
  const std::int64_t local = column("gbs", 0) / p.dp;
  if (run_.framework == "torchtitan" && p.pp > 1 && local >= p.pp) {
    p.micro_batch = static_cast<std::int32_t>(local / p.pp);
    return assume("micro-batch " + std::to_string(p.micro_batch) +
                  ": as many micro-batches as pipeline stages");
  }
  assume("micro-batch 1");
}

void RunReading::take_batch() {
  Plan& p = run_.plan;
  if (row_["mbs"].empty()) take_micro_batch();
  const std::int64_t batch = column("gbs", 0), share = std::int64_t{p.dp} * p.micro_batch;
  p.grad_accumulation =
      static_cast<std::int32_t>(std::max<std::int64_t>(1, batch > 0 ? batch / share : p.pp));
  if (batch == 0) assume("as many micro-batches as pipeline stages");
  run_.question.workload.global_batch = batch;
  run_.question.workload.sequence = needed("seq_len");
}

/// Model chunks a rank. The corpus's table of unprinted inputs has one exception to one.
std::int32_t RunReading::interleave() {
  constexpr std::int64_t kStages = 8, kChunks = 12;
  const bool printed = !row_["vp"].empty();
  if (!printed && run_.plan.pp == kStages && name_key(row_["model"]) == "nemotron4-340b") {
    assume("12 chunks a stage, as the next release of the source prints");
    return kChunks;
  }
  return static_cast<std::int32_t>(std::max<std::int64_t>(1, column("vp", 1)));
}

void RunReading::take_expert_tensor() {
  const auto& layers = run_.question.model.layers;
  const bool moe = std::any_of(layers.begin(), layers.end(),
                               [](const Layer& l) { return std::holds_alternative<MoeMlp>(l.mlp); });
  if (!moe) return;
  Plan& p = run_.plan;
  if (!row_["etp"].empty()) {
    p.etp = static_cast<std::int32_t>(std::max<std::int64_t>(1, column("etp", 1)));
    return;
  }
  // The corpus's table of unprinted inputs: NeMo's Mixtral and Grok recipes cut experts as they cut the rest.
  const std::string model = name_key(row_["model"]);
  const bool cut = row_["framework"].starts_with("NeMo") && (holds(model, "mixtral") || holds(model, "grok"));
  p.etp = told_ || cut ? p.tp : 1;
  assume("expert-tensor parallelism " + std::to_string(p.etp));
}

/// Megatron counts the embedding and the loss as a layer each, so that 126 layers are 64 chunks of two.
void RunReading::take_uneven_chunks() {
  const Plan& p = run_.plan;
  const auto layers = static_cast<std::int64_t>(run_.question.model.layers.size());
  const std::int64_t chunks = std::int64_t{p.pp} * p.interleave;
  const bool told = p.first_layers != Plan::kEven || p.last_layers != Plan::kEven;
  if (told || p.interleave == 1 || chunks > layers || layers % chunks == 0) return;
  run_.question.workload.uneven_chunks = true;
  assume(std::to_string(layers) + " layers over " + std::to_string(chunks) + " chunks as evenly as they go");
}

void RunReading::take_plan() {
  Plan& p = run_.plan;
  if (row_["tp"].empty() || row_["pp"].empty()) return skip("the layout is not printed");
  const auto degree = [&](const char* name) {
    return static_cast<std::int32_t>(std::max<std::int64_t>(1, column(name, 1)));
  };
  p.tp = degree("tp");
  p.pp = degree("pp");
  p.cp = degree("cp");
  p.ep = degree("ep");
  p.interleave = interleave();
  p.micro_batch = degree("mbs");
  take_expert_tensor();
  take_pipeline();
  take_uneven_chunks();
  p.schedule = p.interleave > 1 ? Schedule::kInterleaved : Schedule::k1F1B;
  const std::int64_t gpus = run_.question.cluster.gpus, replica = std::int64_t{p.tp} * p.pp * p.cp;
  if (gpus % replica != 0) return skip("tp x pp x cp does not divide the GPUs");
  p.dp = static_cast<std::int32_t>(gpus / replica);
  take_sharding();
  take_sequence_parallel();
  take_batch();
  if (std::int64_t{p.ep} * p.etp > std::int64_t{p.dp} * p.cp * p.tp)
    skip("ep x etp exceeds the ranks of a stage");
  for (const auto& [value, name] :
       {std::pair{p.tp, "tp"}, {p.pp, "pp"}, {p.cp, "cp"}, {p.ep, "ep"}, {p.interleave, "vp"}}) {
    if (value > 1) run_.features.emplace_back(name);
  }
}

void RunReading::take_precision() {
  const std::string& text = row_["precision"];
  PrecisionRecipe& recipe = run_.question.workload.recipe;
  if (holds(text, "nvfp4")) {
    recipe = PrecisionRecipe::kNvfp4;
  } else if (holds(text, "fp8") && !text.starts_with("fp32")) {
    recipe = holds(text, "mxfp8")       ? PrecisionRecipe::kMxfp8
             : holds(text, "blockwise") ? PrecisionRecipe::kFp8Blockwise
                                        : PrecisionRecipe::kFp8;
  } else if (text.starts_with("bf16")) {
    recipe = PrecisionRecipe::kBf16;
  } else if (text.starts_with("fp16")) {
    recipe = PrecisionRecipe::kFp16;
  } else {
    return skip(text.empty() ? "the precision is not printed" : "precision " + text + " is not modelled yet");
  }
  const Precision precision = precision_of(recipe);
  if (precision == Precision::kFp8 || precision == Precision::kFp4)
    run_.features.emplace_back(name(precision));
}

/// Half of a stage's layers, as policies that recompute every other one do.
Recompute RunReading::every_other_layer() const {
  const auto layers = static_cast<std::int64_t>(run_.question.model.layers.size());
  const std::int64_t half = std::max<std::int64_t>(1, layers / run_.plan.pp / 2);
  return recompute_named("full:" + std::to_string(half)).value_or(Recompute::kFull);
}

void RunReading::take_recompute() {
  const std::string& text = row_["recompute"];
  if (text.starts_with("none")) return;
  if (text.empty()) {
    // The corpus's table of unprinted inputs: MaxText's policy saves about half.
    if (row_["framework"].starts_with("MaxText")) {
      run_.plan.recompute = every_other_layer();
      return assume("half of the layers recomputed");
    }
    if (!corpus().framework_of(row_["framework"])->recompute_none)
      return skip("recomputation is not printed");
    return assume("no recomputation");
  }
  const auto taken = text.starts_with("selective layer") ? every_other_layer() : recompute_of(text);
  if (!taken) return skip("recompute " + text + " is not modelled yet");
  run_.plan.recompute = *taken;
  run_.features.emplace_back(taken->whole_layers() ? "full recompute" : "recomputed modules");
}

Result<TrainingRun> RunReading::run() {
  run_.id = row_["id"];
  run_.source = row_["source_key"];
  run_.quality = row_["quality"];
  run_.citation = row_["source"];
  const auto skipped = [&] { return Error{"skipped", reason_, row_["id"], "", ""}; };
  take_framework();
  take_cluster();
  if (!reason_.empty()) return skipped();
  take_model();
  take_plan();
  take_precision();
  take_kernels();
  take_recompute();
  if (!reason_.empty()) return skipped();
  return run_;
}

Result<TrainingRun> read_training_run(const CsvRow& row, const Catalog& catalog) {
  return RunReading(row, catalog).run();
}

}  // namespace shardplan
