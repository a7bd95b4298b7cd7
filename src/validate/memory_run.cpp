#include "validate/memory_run.h"

#include <array>
#include <cmath>

#include "import/megatron_arguments.h"
#include "units/format.h"

namespace shardplan {
namespace {

// Defaults of Megatron-LM's argument parser (megatron/training/arguments.py).
constexpr std::int64_t kGpt2Vocabulary = 50257, kRouterTopK = 2, kMlpOverHidden = 4;
constexpr std::int64_t kLlama2Vocabulary = 32000, kNemotronVocabulary = 256000;
// cuBLAS workspaces in deterministic mode: CUBLAS_WORKSPACE_CONFIG=:4096:8, 32 MiB for each of two threads.
constexpr Bytes<> kDeterministicWorkspaces = mebibytes(64);
// Bytes a logit of the natively fused loss, whose compiled steps keep a second fp32 tensor.
constexpr Bytes<> kNativeFusedLogit = bytes(10);

/// Arguments that change memory in a way that the account does not know.
constexpr std::array kUnknown{"fp8-format",
                              "mtp-num-layers",
                              "hybrid-layer-pattern",
                              "is-hybrid-model",
                              "spec",
                              "recompute-modules",
                              "use-megatron-fsdp",
                              "cuda-graph-impl",
                              "export-kd-cfg",
                              "moe-latent-size",
                              "defer-embedding-wgrad-compute",
                              "pipeline-model-parallel-layout",
                              "decoder-first-pipeline-num-layers",
                              "microbatch-group-size-per-virtual-pipeline-stage",
                              "overlap-moe-expert-parallel-comm",
                              "cpu-offloading-num-layers"};

/// Two thirds of the ungated default, in whole steps: as many parameters with three matrices.
std::int64_t gated_width(std::int64_t hidden) {
  constexpr std::int64_t kStep = 64;
  return kMlpOverHidden * hidden * 2 / 3 / kStep * kStep;
}

Sourced<Bytes<>> of_run(Bytes<> value, const char* argument) {
  return {value, {SourceKind::kPublished, "framework_args", argument, "", "", ""}};
}

/// Reads one row; the first reason to skip it is kept.
class Reading {
 public:
  Reading(const CsvRow& row, const Catalog& catalog)
      : row_(row), catalog_(catalog), args_(row["framework_args"]), told_(!row["framework_args"].empty()) {}

  Result<MemoryRun> run() {
    take_measurement();
    take_framework();
    take_cluster();
    if (!reason_.empty()) return skipped();
    take_model();
    take_plan();
    take_kernels();
    take_recompute();
    if (!reason_.empty()) return skipped();
    run_.question.activations = ActivationModel::kOps;
    return run_;
  }

 private:
  Error skipped() const { return {"skipped", reason_, row_["id"], "", ""}; }
  void skip(const std::string& reason) {
    if (reason_.empty()) reason_ = reason;
  }
  void assume(const std::string& text) { run_.assumed.push_back(text); }

  /// A whole number of a column, `otherwise` where it is blank.
  std::int64_t column(const char* name, std::int64_t otherwise) {
    const std::string& text = row_[name];
    if (text.empty()) return otherwise;
    const auto value = parse_number(text);
    if (value && *value == std::floor(*value) && *value >= 0 && *value < 1e12)
      return static_cast<std::int64_t>(*value);
    skip(std::string(name) + " is \"" + text + "\", not a whole number");
    return otherwise;
  }
  std::int64_t needed(const char* name) {
    const std::int64_t value = column(name, 0);
    if (value == 0) skip(std::string(name) + " is not printed");
    return value;
  }
  std::int64_t argument(const char* name, std::int64_t otherwise) {
    const auto value = args_.number(name, otherwise);
    if (!value) skip(std::string("--") + name + " is \"" + args_.text(name) + "\", not a whole number");
    return value.value_or(otherwise);
  }

  void take_measurement();
  void take_framework();
  void take_cluster();
  void take_model();
  std::int64_t take_vocabulary();
  Mixer mixer(std::int64_t hidden);
  void take_experts(const DenseMlp& dense);
  void take_plan();
  void take_kernels();
  void take_recompute();
  const Model* published_shape();

  const CsvRow& row_;
  const Catalog& catalog_;
  MegatronArguments args_;
  bool told_;  // the run's command line is known
  MemoryRun run_;
  Model shape_;
  std::string reason_;
};

void Reading::take_measurement() {
  run_.id = row_["id"];
  run_.source = row_["source_key"];
  run_.counter = row_["mem_counter"];
  if (run_.counter != "allocated")
    skip("counter " + run_.counter + ": only allocated bytes are predicted yet");
  run_.measured = gibibytes(parse_number(row_["peak_mem_gb"]).value_or(0));
  if (row_["status"] != "ok") skip("the run's status is " + row_["status"]);
  const std::string& rank = row_["mem_rank"];
  if (rank == "first") run_.rank = MemoryRun::Rank::kFirst;
  if (rank == "last") run_.rank = MemoryRun::Rank::kLast;
}

void Reading::take_framework() {
  const std::string& name = row_["framework"];
  if (!name.starts_with("Megatron-Core") && !name.starts_with("Megatron-LM")) {
    return skip("framework " + name + ": its buffers are not in the account yet");
  }
  run_.framework = "megatron";
  const auto found = find_framework(catalog_, run_.framework, "framework");
  if (found) run_.question.framework = **found;
  for (const char* unknown : kUnknown) {
    if (args_.has(unknown)) return skip(std::string("--") + unknown + " is not modelled yet");
  }
  if (args_.text("moe-token-dispatcher-type") == "flex")
    skip("the flex dispatcher's buffers are not modelled");
  run_.question.workload.optimizer_instances = argument("num-distributed-optimizer-instances", 1);
}

void Reading::take_cluster() {
  run_.gpu = row_["gpu"];
  if (row_["gpus"].empty()) return skip("the GPU count is blank");
  std::string name = name_key(run_.gpu);
  auto device = find_device(catalog_, name, "gpu");
  if (!device) return skip(device.error().message);
  Cluster& cluster = run_.question.cluster;
  cluster.name = run_.gpu;
  cluster.device = **device;
  cluster.gpus = needed("gpus");
  cluster.tiers.push_back({"node", cluster.gpus, {bytes_per_s(1), {}}, {}, {ratio(1), {}}});
}

std::int64_t Reading::take_vocabulary() {
  if (const std::int64_t printed = column("vocab", 0)) return printed;
  if (args_.has("vocab-size")) return argument("vocab-size", 0);
  if (args_.text("tokenizer-type") == "Llama2Tokenizer") return kLlama2Vocabulary;
  if (args_.text("tokenizer-model").find("nemotron_2_256k") != std::string::npos) return kNemotronVocabulary;
  if (args_.has("tokenizer-type") && args_.text("tokenizer-type") != "${TOKENIZER_TYPE}") {
    skip("the vocabulary of " + args_.text("tokenizer-type") + " is not printed");
  }
  assume("vocabulary " + format_count(static_cast<double>(kGpt2Vocabulary)) + " of the GPT-2 tokenizer");
  return kGpt2Vocabulary;
}

/// The published model that a row is a slice of, for what no column holds.
const Model* Reading::published_shape() {
  std::string name = row_["model"];
  if (const std::size_t slice = name.find(" slice"); slice != std::string::npos) name.resize(slice);
  const auto entry = find_model(catalog_, name, "model");
  if (!entry) {
    skip("the shape of " + name + " is not printed and not in the catalog");
    return nullptr;
  }
  Result<Model> model = (*entry)->model();
  if (!model) return nullptr;
  shape_ = std::move(model).value();
  assume("latent attention, shared experts and dense first layers as published for " + name);
  return &shape_;
}

Mixer Reading::mixer(std::int64_t hidden) {
  const std::int64_t heads = needed("heads");
  if (heads == 0) return NoMixer{};
  if (args_.has("multi-latent-attention")) {
    return LatentAttention{.heads = heads,
                           .q_rank = argument("q-lora-rank", 0),
                           .kv_rank = argument("kv-lora-rank", 0),
                           .nope_dim = argument("qk-head-dim", 0),
                           .rope_dim = argument("qk-pos-emb-head-dim", 0),
                           .value_dim = argument("v-head-dim", 0)};
  }
  if (row_["attn_kind"] == "mla") {
    const Model* shape = published_shape();
    if (shape == nullptr) return NoMixer{};
    return shape->layers.front().mixer;
  }
  const bool biased = told_ && !args_.has("disable-bias-linear");
  const std::int64_t printed = column("head_dim", 0);
  return Attention{.heads = heads,
                   .kv_heads = column("kv_heads", heads),
                   .head_dim = argument("kv-channels", printed > 0 ? printed : hidden / heads),
                   .q_bias = biased,
                   .kv_bias = biased,
                   .out_bias = biased,
                   .qk_norm = args_.has("qk-layernorm") ? QkNorm::kPerHead : QkNorm::kNone};
}

void Reading::take_experts(const DenseMlp& dense) {
  Model& m = run_.question.model;
  const std::int64_t experts = column("moe_experts", 0), layers = static_cast<std::int64_t>(m.layers.size());
  if (experts == 0) return;
  run_.features.emplace_back("moe");
  MoeMlp moe{.experts = experts,
             .top_k = column("moe_topk", kRouterTopK),
             .width = column("moe_ffn", dense.width),
             .gated = dense.gated,
             .shared_width = argument("moe-shared-expert-intermediate-size", 0)};
  std::vector<bool> marks(static_cast<std::size_t>(layers), true);
  if (args_.has("moe-layer-freq")) {
    const auto read = moe_layers(args_.text("moe-layer-freq"), layers);
    if (!read) return skip("--moe-layer-freq is \"" + args_.text("moe-layer-freq") + "\", not understood");
    marks = *read;
  }
  if (!told_ && !shape_.layers.empty()) {
    const Layer& last = shape_.layers.back();
    if (const auto* published = std::get_if<MoeMlp>(&last.mlp)) moe.shared_width = published->shared_width;
    for (std::size_t i = 0; i < marks.size() && i < shape_.layers.size(); ++i) {
      marks[i] = std::holds_alternative<MoeMlp>(shape_.layers[i].mlp);
    }
  }
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (marks[i]) m.layers[i].mlp = moe;
  }
}

void Reading::take_model() {
  Model& m = run_.question.model;
  m.name = row_["model"];
  m.hidden = needed("hidden");
  const std::int64_t layers = needed("layers");
  m.vocab = take_vocabulary();
  const bool rms = !told_ || args_.text("normalization") == "RMSNorm";
  const std::int64_t norms = rms ? 1 : 2;  // a scale, or a scale and a bias
  m.tied_embeddings = told_ && !args_.has("untie-embeddings-and-output-weights");
  const bool learned = told_ && !args_.has("position-embedding-type");
  m.learned_positions = learned ? argument("max-position-embeddings", 0) : 0;
  m.final_norm_parameters = norms * m.hidden;
  std::int64_t width = column("ffn", 0);
  if (width == 0) width = column("moe_ffn", 0);
  if (width == 0 && told_) {
    width = row_["glu"] == "1" ? gated_width(m.hidden) : kMlpOverHidden * m.hidden;
    assume("MLP width " + format_count(static_cast<double>(width)) + ", the argument parser's default");
  }
  if (width == 0) skip("the MLP width is not printed");
  const DenseMlp dense{
      .width = width, .gated = row_["glu"] == "1", .bias = told_ && !args_.has("disable-bias-linear")};
  if (row_["glu"].empty()) skip("whether the MLP is gated is not printed");
  Layer layer{mixer(m.hidden), dense, 2 * norms * m.hidden, 0};
  if (layers > 0 && layers < 10000) m.layers.assign(static_cast<std::size_t>(layers), layer);
  take_experts(dense);
}

void Reading::take_plan() {
  Plan& p = run_.plan;
  const auto degree = [&](const char* name) {
    return static_cast<std::int32_t>(std::max<std::int64_t>(1, column(name, 1)));
  };
  p.tp = degree("tp");
  p.pp = degree("pp");
  p.cp = degree("cp");
  p.ep = degree("ep");
  p.interleave = degree("vp");
  const bool moe = column("moe_experts", 0) > 0;
  p.etp = moe ? (row_["etp"].empty() ? (told_ ? p.tp : 1) : degree("etp")) : 1;
  if (moe && row_["etp"].empty()) assume("expert-tensor parallelism " + std::to_string(p.etp));
  p.schedule = p.interleave > 1 ? Schedule::kInterleaved : Schedule::k1F1B;
  const std::int64_t gpus = run_.question.cluster.gpus, replica = std::int64_t{p.tp} * p.pp * p.cp;
  if (gpus % replica != 0) return skip("tp x pp x cp does not divide the GPUs");
  p.dp = static_cast<std::int32_t>(gpus / replica);
  p.zero_stage = row_["sharding"].find("distributed optimizer") != std::string::npos ? 1 : 0;
  if (row_["sharding"].find("fsdp") != std::string::npos) skip("Megatron-FSDP is not modelled yet");
  p.sequence_parallel = p.tp > 1 && (args_.has("sequence-parallel") || row_["sequence_parallel"] == "1");
  p.micro_batch = degree("mbs");
  const std::int64_t batch = column("gbs", 0);
  p.grad_accumulation = static_cast<std::int32_t>(
      std::max<std::int64_t>(1, batch > 0 ? batch / (std::int64_t{p.dp} * p.micro_batch) : p.pp));
  if (batch == 0) assume("as many micro-batches as pipeline stages");
  run_.question.workload.sequence = needed("seq_len");
  if (std::int64_t{p.ep} * p.etp > std::int64_t{p.dp} * p.cp * p.tp)
    skip("ep x etp exceeds the ranks of a stage");
  for (const auto& [value, name] :
       {std::pair{p.tp, "tp"}, {p.pp, "pp"}, {p.cp, "cp"}, {p.ep, "ep"}, {p.interleave, "vp"}}) {
    if (value > 1) run_.features.emplace_back(name);
  }
}

void Reading::take_kernels() {
  Framework& f = run_.question.framework;
  Kernels& k = run_.question.workload.kernels;
  const bool engine = args_.text("transformer-impl") != "local";
  k.fused_weight_gradient = !args_.has("no-gradient-accumulation-fusion");
  const auto on = [&](const char* dropout) {
    return told_ && parse_number(args_.has(dropout) ? args_.text(dropout) : "0.1").value_or(0) > 0;
  };
  k.attention_dropout = on("attention-dropout");
  k.hidden_dropout = on("hidden-dropout");
  k.attention_mask = told_ && !args_.has("no-create-attention-mask-in-dataloader");
  const std::string backend = args_.text("attention-backend");
  k.fused_attention = backend.empty() ? engine : backend != "unfused";
  if (told_ && backend.empty() && engine)
    assume("fused attention, the backend that TransformerEngine prefers");
  if (!k.fused_attention) run_.features.emplace_back("unfused attention");
  k.gathers_expert_tokens = told_ && args_.text("moe-token-dispatcher-type") != "alltoall";
  k.fused_expert_activation = row_["glu"] == "1" || args_.has("use-fused-weighted-squared-relu");
  Framework::Buffers& b = f.buffers;
  if (args_.has("make-vocab-size-divisible-by")) {
    b.vocabulary_multiple.value = ratio(static_cast<double>(argument("make-vocab-size-divisible-by", 1)));
  }
  if (args_.text("cross-entropy-fusion-impl") == "native") {
    b.logit = of_run(kNativeFusedLogit, "cross-entropy-fusion-impl");
  }
  if (args_.has("tp-comm-overlap")) b.sequence_gather.value = ratio(0);
  if (told_ && !args_.has("moe-grouped-gemm")) b.grouped_workspaces.value = ratio(0);
  if (args_.has("deterministic-mode")) {
    b.before_hopper.library = b.since_hopper.library = of_run(kDeterministicWorkspaces, "deterministic-mode");
  }
  if (!engine) {
    b.before_hopper.engine.value = b.since_hopper.engine.value = bytes(0);
    b.placeholder_gradients.value = ratio(0);
  }
  StateBytes& adamw = f.state[static_cast<std::size_t>(Optimizer::kAdamW)];
  if (args_.has("grad-reduce-in-bf16")) adamw.gradient = of_run(bytes(2), "grad-reduce-in-bf16");
  if (args_.text("optimizer") == "muon") run_.question.workload.optimizer = Optimizer::kMuon;
  const std::string& precision = row_["precision"];
  if (precision == "fp16") {
    run_.question.workload.precision = Precision::kFp16;
  } else if (precision != "bf16") {
    skip("precision " + precision + " is not modelled yet");
  }
}

void Reading::take_recompute() {
  const std::string& text = row_["recompute"];
  if (text.starts_with("none")) return;
  if (text.starts_with("full")) {
    run_.plan.recompute = Recompute::kFull;
    run_.features.emplace_back("full recompute");
  } else {
    skip(text.empty() ? "recomputation is not printed" : "recompute " + text + " is not modelled yet");
  }
}

}  // namespace

bool has_measured_peak(const CsvRow& row) {
  const auto value = parse_number(row["peak_mem_gb"]);
  return value && *value > 0;
}

Result<MemoryRun> read_memory_run(const CsvRow& row, const Catalog& catalog) {
  return Reading(row, catalog).run();
}

}  // namespace shardplan
