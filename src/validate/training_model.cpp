// A row's model: from its columns and command line, from the published shape where those are silent.
#include "units/format.h"
#include "validate/run_reading.h"

namespace shardplan {
namespace {

std::int64_t whole(const Sourced<Ratio<>>& count) { return static_cast<std::int64_t>(count.value.raw()); }

/// Two thirds of the ungated default, in whole steps: as many parameters with three matrices.
std::int64_t gated_width(const Corpus& corpus, std::int64_t hidden) {
  const std::int64_t step = whole(corpus.gated_width_multiple);
  return whole(corpus.mlp_over_hidden) * hidden * 2 / 3 / step * step;
}

}  // namespace

std::int64_t RunReading::take_vocabulary() {
  if (const std::int64_t printed = column("vocab", 0)) return printed;
  if (args_.has("vocab-size")) return argument("vocab-size", 0);
  if (args_.text("tokenizer-type") == "Llama2Tokenizer") return whole(corpus().vocabulary_llama2);
  if (args_.text("tokenizer-model").find("nemotron_2_256k") != std::string::npos)
    return whole(corpus().vocabulary_nemotron);
  if (args_.has("tokenizer-type") && args_.text("tokenizer-type") != "${TOKENIZER_TYPE}") {
    skip("the vocabulary of " + args_.text("tokenizer-type") + " is not printed");
  }
  assume("vocabulary " + format_count(corpus().vocabulary_gpt2.value.raw()) + " of the GPT-2 tokenizer");
  return whole(corpus().vocabulary_gpt2);
}

/// The published model that a row is of, or a slice of, for `what` no column holds.
const Model* RunReading::published_shape(const std::string& what) {
  std::string name = row_["model"];
  for (const char* remark : {" slice", " (LLM)"}) {
    if (const std::size_t at = name.find(remark); at != std::string::npos) name.resize(at);
  }
  const auto entry = find_model(catalog_, name, "model");
  if (!entry) {
    skip("the shape of " + name + " is not printed and not in the catalog");
    return nullptr;
  }
  Result<Model> model = (*entry)->model();
  if (!model) return nullptr;
  shape_ = std::move(model).value();
  assume(what + " as published for " + name);
  return &shape_;
}

Mixer RunReading::mixer(std::int64_t hidden, bool biased) {
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
    const Model* shape = published_shape("latent attention, shared experts and dense first layers");
    if (shape == nullptr) return NoMixer{};
    return shape->layers.front().mixer;
  }
  const std::int64_t printed = column("head_dim", 0);
  return Attention{.heads = heads,
                   .kv_heads = column("kv_heads", heads),
                   .head_dim = argument("kv-channels", printed > 0 ? printed : hidden / heads),
                   .q_bias = biased,
                   .kv_bias = biased,
                   .out_bias = biased,
                   .qk_norm = args_.has("qk-layernorm") ? QkNorm::kPerHead : QkNorm::kNone};
}

void RunReading::take_experts(const DenseMlp& dense) {
  Model& m = run_.question.model;
  const std::int64_t experts = column("moe_experts", 0), layers = static_cast<std::int64_t>(m.layers.size());
  if (experts == 0) return;
  run_.features.emplace_back("moe");
  MoeMlp moe{.experts = experts,
             .top_k = column("moe_topk", whole(corpus().router_top_k)),
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

/// Layers that columns cannot say (windows, chunks, state spaces), and shapes that the source leaves to the
/// model's name, are those of the published model.
bool RunReading::take_published_model() {
  const std::string& kind = row_["attn_kind"];
  const bool mixed = kind.find("swa") != std::string::npos || kind.find("chunked") != std::string::npos ||
                     kind.find("hybrid") != std::string::npos;
  const bool unprinted = row_["layers"].empty() || row_["hidden"].empty() || row_["heads"].empty();
  if (told_ || !(mixed || unprinted)) return false;
  const Model* published = published_shape(unprinted ? "the shape" : "the kinds of layers");
  if (published == nullptr) return true;
  const auto layers = static_cast<std::int64_t>(published->layers.size());
  if (layers != column("layers", layers)) {
    skip("a slice of " + published->name + ": which layers is not printed");
  }
  run_.question.model = *published;
  for (const Layer& layer : published->layers) {
    if (!std::holds_alternative<MoeMlp>(layer.mlp)) continue;
    run_.features.emplace_back("moe");
    break;
  }
  return true;
}

/// The corpus's table of unprinted inputs: one prediction layer where the model FLOP of a token are more than
/// those of the main layers.
void RunReading::take_prediction_layers() {
  const auto flops = parse_number(row_["model_tflops_per_gpu"]),
             tokens = parse_number(row_["tokens_per_s_per_gpu"]);
  if (told_ || name_key(row_["model"]) != "deepseek-v3" || !flops || !tokens || *tokens <= 0) return;
  if (*flops * teraflops_per_s(1).raw() / *tokens < corpus().prediction_layer_above.value.raw()) return;
  run_.question.workload.mtp_layers = 1;
  assume("one prediction layer, by the FLOP of a token");
}

void RunReading::take_model() {
  take_prediction_layers();
  if (take_published_model()) return;
  Model& m = run_.question.model;
  m.name = row_["model"];
  m.hidden = needed("hidden");
  m.vocab = take_vocabulary();
  const bool gated = row_["glu"] == "1";
  // Nemotron's squared-ReLU models have neither biases nor a tied head.
  const bool classic = !told_ && !gated && !name_key(m.name).starts_with("nemotron");
  if (classic) assume("LayerNorm, biases and a tied head, as GPT has");
  const bool rms = told_ ? args_.text("normalization") == "RMSNorm" : !classic;
  const std::int64_t norms = rms ? 1 : 2;  // a scale, or a scale and a bias
  m.tied_embeddings = told_ ? !args_.has("untie-embeddings-and-output-weights") : classic;
  const bool learned = told_ && !args_.has("position-embedding-type");
  m.learned_positions = learned ? argument("max-position-embeddings", 0) : 0;
  m.final_norm_parameters = norms * m.hidden;
  take_layers(norms, told_ ? !args_.has("disable-bias-linear") : classic);
}

void RunReading::take_layers(std::int64_t norms, bool biased) {
  Model& m = run_.question.model;
  constexpr std::int64_t kLayersMax = 10000;
  const std::int64_t layers = needed("layers");
  std::int64_t width = column("ffn", 0);
  if (width == 0) width = column("moe_ffn", 0);
  if (width == 0 && told_) {
    width = row_["glu"] == "1" ? gated_width(corpus(), m.hidden) : whole(corpus().mlp_over_hidden) * m.hidden;
    assume("MLP width " + format_count(static_cast<double>(width)) + ", the argument parser's default");
  }
  if (width == 0) skip("the MLP width is not printed");
  if (row_["glu"].empty()) skip("whether the MLP is gated is not printed");
  if (!row_["glu"].empty() && row_["glu"] != "0" && row_["glu"] != "1") {
    skip("glu is \"" + row_["glu"] + "\", neither 0 nor 1");
  }
  if (row_["kv_heads"] == "0") skip("kv_heads is 0");
  const DenseMlp dense{.width = width, .gated = row_["glu"] == "1", .bias = biased};
  const Layer layer{mixer(m.hidden, biased), dense, 2 * norms * m.hidden, 0};
  if (layers > 0 && layers < kLayersMax) m.layers.assign(static_cast<std::size_t>(layers), layer);
  take_experts(dense);
}

}  // namespace shardplan
