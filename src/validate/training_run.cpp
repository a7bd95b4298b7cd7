// A row's framework, cluster, plan, precision and recomputation.
#include "validate/training_run.h"

#include <array>
#include <cmath>

#include "import/cluster_build.h"
#include "units/format.h"
#include "validate/run_reading.h"

namespace shardplan {
namespace {

/// What the corpus calls a framework, by the beginning of its text, and whose state and buffers it has.
struct CorpusFramework {
  const char* prefix;
  const char* framework;
  bool sequence_parallel;  // taken where tp > 1 and the source does not say
  int zero_stage;          // taken where the source does not say; -1: none may be
  bool recompute_none;     // a blank recomputation means none
  const char* memory_gap;
};
constexpr const char* kOtherBuffers = "its buffers are not in the account yet";
constexpr std::array kFrameworks{
    CorpusFramework{"Megatron-Core", "megatron", true, 1, true, ""},
    CorpusFramework{"Megatron-LM 23e00ed0", "megatron", true, 1, true, ""},
    CorpusFramework{"Megatron-LM/DeepSpeed", "deepspeed", false, -1, false, kOtherBuffers},
    CorpusFramework{"Megatron-LM", "megatron", false, 0, false, ""},
    CorpusFramework{"Megatron-Bridge", "megatron", true, 1, true, ""},
    CorpusFramework{"Megatron-DeepSpeed", "deepspeed", false, 0, false, kOtherBuffers},
    CorpusFramework{"Megatron + DeepSpeed", "deepspeed", false, -1, false, kOtherBuffers},
    CorpusFramework{"DeepSpeed", "deepspeed", false, 3, false, kOtherBuffers},
    CorpusFramework{"NeMo", "megatron", true, 1, true, kOtherBuffers},
    CorpusFramework{"Primus", "megatron", true, 1, true, kOtherBuffers},
    CorpusFramework{"MosaicML llm-foundry", "fsdp", false, -1, false, kOtherBuffers},
    CorpusFramework{"MaxText", "fsdp", false, 3, false, kOtherBuffers},
    CorpusFramework{"torchtitan", "torchtitan", true, -1, false, kOtherBuffers},
    CorpusFramework{"nanotron", "nanotron", true, -1, true, kOtherBuffers},
    CorpusFramework{"InternEvo", "generic", false, -1, false, kOtherBuffers},
};

const CorpusFramework* corpus_framework(const std::string& text) {
  for (const CorpusFramework& f : kFrameworks) {
    if (text.starts_with(f.prefix)) return &f;
  }
  return nullptr;
}

bool holds(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

/// "full", "full uniform 2 layers", "full block 4 layers", "selective (core attention)", "selective modules
/// [moe_act mlp]", "selective (mla_up_proj, mlp)".
std::optional<Recompute> recompute_of(std::string text) {
  constexpr std::string_view kUniform = "full uniform ", kBlock = "full block ";
  if (text == "selective (core attention)") return Recompute::kSelective;
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

}  // namespace

std::int64_t RunReading::column(const char* name, std::int64_t otherwise) {
  const std::string& text = row_[name];
  if (text.empty()) return otherwise;
  constexpr double kMost = 1e12;
  const auto value = parse_number(text);
  if (value && *value == std::floor(*value) && *value >= 0 && *value < kMost)
    return static_cast<std::int64_t>(*value);
  skip(std::string(name) + " is \"" + text + "\", not a whole number");
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

void RunReading::take_framework() {
  const std::string& text = row_["framework"];
  const CorpusFramework* known = corpus_framework(text);
  if (known == nullptr) return skip("framework " + text + " is not modelled");
  const std::string& task = row_["task"];
  if (!task.empty() && task != "pretrain" && !task.starts_with("sft")) {
    return skip("task " + task + " is not modelled yet");
  }
  run_.framework = known->framework;
  const auto found = find_framework(catalog_, run_.framework, "framework");
  if (found) run_.question.framework = **found;
  if (*known->memory_gap != '\0') gap("framework " + text + ": " + known->memory_gap);
  run_.question.workload.optimizer_instances = argument("num-distributed-optimizer-instances", 1);
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
  Result<Cluster> cluster = usual_cluster(catalog_, **device, gpus, node);
  if (!cluster) return skip(cluster.error().message);
  run_.question.cluster = std::move(cluster).value();
}

void RunReading::take_sharding() {
  const std::string& text = row_["sharding"];
  Plan& p = run_.plan;
  int stage = corpus_framework(row_["framework"])->zero_stage;
  if (text.empty()) {
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
  } else {
    stage = 0;
  }
  p.zero_stage = static_cast<std::int8_t>(stage);
  if (holds(text, "megatron-fsdp")) gap("Megatron-FSDP is not modelled yet");
  // "zero1 over 8 GPUs": the optimizer's shards are spread over so many ranks, and repeated.
  if (const std::size_t at = text.find("zero1 over "); at != std::string::npos && !holds(text, "all dp")) {
    const std::int64_t over = std::atoll(text.c_str() + at + std::string("zero1 over ").size());
    if (over > 0) run_.question.workload.optimizer_instances = std::max<std::int64_t>(1, p.dp / over);
  }
  if (!run_.question.framework.zero[static_cast<std::size_t>(stage)].allowed) {
    skip("ZeRO stage " + std::to_string(stage) + " is none of " + run_.framework);
  }
}

void RunReading::take_sequence_parallel() {
  const std::string& text = row_["sequence_parallel"];
  Plan& p = run_.plan;
  if (p.tp == 1) return;
  if (told_ || !text.empty()) {
    p.sequence_parallel = args_.has("sequence-parallel") || text == "1";
    return;
  }
  p.sequence_parallel = corpus_framework(row_["framework"])->sequence_parallel;
  assume(p.sequence_parallel ? "sequence parallel, as tp > 1" : "no sequence parallelism");
}

void RunReading::take_batch() {
  Plan& p = run_.plan;
  if (row_["mbs"].empty()) assume("micro-batch 1");
  const std::int64_t batch = column("gbs", 0), share = std::int64_t{p.dp} * p.micro_batch;
  p.grad_accumulation =
      static_cast<std::int32_t>(std::max<std::int64_t>(1, batch > 0 ? batch / share : p.pp));
  if (batch == 0) assume("as many micro-batches as pipeline stages");
  run_.question.workload.global_batch = batch;
  run_.question.workload.sequence = needed("seq_len");
}

void RunReading::take_plan() {
  Plan& p = run_.plan;
  const auto degree = [&](const char* name) {
    return static_cast<std::int32_t>(std::max<std::int64_t>(1, column(name, 1)));
  };
  p.tp = degree("tp");
  p.pp = degree("pp");
  p.cp = degree("cp");
  p.ep = degree("ep");
  p.interleave = degree("vp");
  p.micro_batch = degree("mbs");
  const bool moe = column("moe_experts", 0) > 0;
  p.etp = moe ? (row_["etp"].empty() ? (told_ ? p.tp : 1) : degree("etp")) : 1;
  if (moe && row_["etp"].empty()) assume("expert-tensor parallelism " + std::to_string(p.etp));
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
  Precision& precision = run_.question.workload.precision;
  if (text.starts_with("bf16")) {
    if (text.find("fp8") != std::string::npos) return skip("precision " + text + " is not modelled yet");
    precision = Precision::kBf16;
  } else if (text.starts_with("fp16")) {
    precision = Precision::kFp16;
  } else if (text.starts_with("fp8") || text.starts_with("mxfp8")) {
    precision = Precision::kFp8;
    run_.features.emplace_back("fp8");
    gap("precision " + text + " is not in the account yet");
  } else if (text.starts_with("nvfp4")) {
    precision = Precision::kFp4;
    run_.features.emplace_back("fp4");
    gap("precision " + text + " is not in the account yet");
  } else {
    skip(text.empty() ? "the precision is not printed" : "precision " + text + " is not modelled yet");
  }
}

void RunReading::take_recompute() {
  const std::string& text = row_["recompute"];
  if (text.starts_with("none")) return;
  if (text.empty()) {
    if (!corpus_framework(row_["framework"])->recompute_none) return skip("recomputation is not printed");
    return assume("no recomputation");
  }
  const auto taken = recompute_of(text);
  if (!taken) return skip("recompute " + text + " is not modelled yet");
  run_.plan.recompute = *taken;
  run_.features.emplace_back(taken->whole_layers() ? "full recompute" : "recomputed modules");
}

Result<TrainingRun> RunReading::run() {
  run_.id = row_["id"];
  run_.source = row_["source_key"];
  run_.quality = row_["quality"];
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
