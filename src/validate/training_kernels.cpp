// What a row's command line says of the run's kernels and buffers.
#include <array>

#include "units/format.h"
#include "validate/run_reading.h"

namespace shardplan {
namespace {

/// Arguments that change memory in a way that the account does not know.
constexpr std::array kUnknown{
    "mtp-use-repeated-layer",   "hybrid-layer-pattern", "is-hybrid-model", "spec",
    "cuda-graph-impl",          "export-kd-cfg",        "moe-latent-size", "overlap-moe-expert-parallel-comm",
    "cpu-offloading-num-layers"};

/// Megatron's --grad-reduce-in-bf16, and recipes that reduce so.
Sourced<Bytes<>> bf16_gradient(const char* argument) {
  return {bytes(2), {SourceKind::kPublished, "framework_args", argument, "", "", ""}};
}

}  // namespace

/// --fp8-param-gather: the copies stand in place of the 16-bit weights, and only their scales come on top.
void RunReading::take_fp8_weights() {
  Framework& framework = run_.question.framework;
  const PrecisionRecipe recipe = run_.question.workload.recipe;
  if (precision_of(recipe) != Precision::kFp8) return;
  Bytes<>& copies = framework.buffers.quantized[static_cast<std::size_t>(recipe)].weight_copies.value;
  const Bytes<> wide = framework.state[static_cast<std::size_t>(Optimizer::kAdamW)].weight.value;
  copies = copies > wide ? copies - wide : bytes(0);
}

void RunReading::take_megatron_arguments() {
  Framework::Buffers& b = run_.question.framework.buffers;
  for (const char* unknown : kUnknown) {
    if (args_.has(unknown)) gap(std::string("--") + unknown + " is not modelled yet");
  }
  if (told_) run_.question.workload.mtp_layers = argument("mtp-num-layers", 0);
  if (run_.question.workload.mtp_layers > 0) run_.features.emplace_back("mtp");
  if (args_.has("defer-embedding-wgrad-compute")) {
    const std::int64_t limit = argument("wgrad-deferral-limit", 0);  // 0: all of a step's
    run_.question.workload.kernels.deferred_head_gradients = limit > 0 ? limit : run_.plan.grad_accumulation;
  }
  // The published command lines leave the flags out; the tests' names have them.
  if (row_["model"].find("offloading") != std::string::npos) gap("activation offloading is not modelled");
  if (args_.text("moe-token-dispatcher-type") == "flex")
    gap("the flex dispatcher's buffers are not modelled");
  if (args_.has("make-vocab-size-divisible-by")) {
    b.vocabulary_multiple.value = ratio(static_cast<double>(argument("make-vocab-size-divisible-by", 1)));
  }
  // The argument parser's default implementation is the native one.
  const std::string fusion = args_.text("cross-entropy-fusion-impl");
  if (args_.has("cross-entropy-loss-fusion") && (fusion.empty() || fusion == "native")) {
    b.logit = corpus().logit_native_fused;
  }
  if (args_.has("fp8-param-gather")) take_fp8_weights();
  if (args_.has("tp-comm-overlap")) b.sequence_gather.value = ratio(0);
  if (told_ && !args_.has("moe-grouped-gemm")) b.grouped_workspaces.value = ratio(0);
  if (args_.has("deterministic-mode")) {
    b.before_hopper.library = b.since_hopper.library = corpus().workspaces_deterministic;
  }
  if (args_.text("transformer-impl") == "local") {
    b.before_hopper.engine.value = b.since_hopper.engine.value = bytes(0);
    b.placeholder_gradients.value = ratio(0);
  }
  StateBytes& adamw = run_.question.framework.state[static_cast<std::size_t>(Optimizer::kAdamW)];
  if (args_.has("grad-reduce-in-bf16")) adamw.gradient = bf16_gradient("grad-reduce-in-bf16");
  // Megatron-Bridge src/megatron/bridge/training/mixed_precision.py (fp8_param_gather) and its performance
  // configurations (grad_reduce_in_fp32 off).
  if (row_["framework"].starts_with("NeMo") || row_["framework"].starts_with("Megatron-Bridge")) {
    adamw.gradient = bf16_gradient("recipe");
    if (run_.question.workload.recipe != PrecisionRecipe::kFp8Blockwise) take_fp8_weights();
    assume("gradients reduced and kept in bf16, fp8 weights gathered in fp8, as the performance recipes do");
  }
  if (row_["framework"].starts_with("MosaicML")) {
    b.logit = corpus().logit_flash_attention;
    assume("the fused loss of flash-attn, that project's default");
  }
  if (args_.text("optimizer") == "muon") run_.question.workload.optimizer = Optimizer::kMuon;
}

void RunReading::take_kernels() {
  Kernels& k = run_.question.workload.kernels;
  const bool engine = args_.text("transformer-impl") != "local";
  // Before flash attention: the softmax kernel is fused, the scores are stored; dropout 0.1 is that argument
  // parser's default.
  const bool scores = !told_ && corpus().framework_of(row_["framework"])->stored_scores;
  if (scores) assume("attention with stored scores, dropout 0.1");
  k.fused_weight_gradient = !args_.has("no-gradient-accumulation-fusion");
  const auto on = [&](const char* dropout) {
    return scores ||
           (told_ && parse_number(args_.has(dropout) ? args_.text(dropout) : "0.1").value_or(0) > 0);
  };
  k.attention_dropout = on("attention-dropout");
  k.hidden_dropout = on("hidden-dropout");
  k.attention_mask = told_ && !args_.has("no-create-attention-mask-in-dataloader");
  const std::string backend = args_.text("attention-backend");
  k.fused_attention = !scores && (backend.empty() ? engine : backend != "unfused");
  if (told_ && backend.empty() && engine)
    assume("fused attention, the backend that TransformerEngine prefers");
  if (!k.fused_attention) run_.features.emplace_back("unfused attention");
  k.gathers_expert_tokens = told_ && args_.text("moe-token-dispatcher-type") != "alltoall";
  k.fused_expert_activation = row_["glu"] == "1" || args_.has("use-fused-weighted-squared-relu");
  // Until the end of 2024 torchtitan did not compile the loss with the model; its pages name their month.
  if (run_.framework == "torchtitan" && row_["source"].find("_2025") != std::string::npos) {
    k.compiled_loss = true;
    assume("a compiled loss, as since 2025");
  }
  const std::string& notes = row_["notes"];
  const auto noted = [&](const char* text) { return notes.find(text) != std::string::npos; };
  k.captured_graphs = noted("cuda_graph_impl=") && !noted("cuda_graph_impl=none");
  k.overlapped_exchange = noted("moe_a2a_overlap=True");
  if (noted("AsyncTP") || noted("asyncTP")) k.tensor_overlap = TensorOverlap::kAsync;
  take_megatron_arguments();
}

}  // namespace shardplan
