#include "import/corpus.h"

namespace shardplan {
namespace {

CorpusFramework read_framework(const JsonNode& node, const Sources& sources) {
  node.allow_only({"prefix", "framework", "timing", "memory_gap", "sequence_parallel", "zero_stage",
                   "recompute_none", "stored_scores", "source"});
  CorpusFramework f;
  f.prefix = node.at("prefix").text();
  f.framework = node.at("framework").text();
  if (const JsonNode timing = node.find("timing")) f.timing = timing.text();
  if (const JsonNode gap = node.find("memory_gap")) f.memory_gap = gap.text();
  if (const JsonNode on = node.find("sequence_parallel")) f.sequence_parallel = on.boolean();
  if (const JsonNode stage = node.find("zero_stage")) f.zero_stage = static_cast<int>(stage.integer(0, 3));
  if (const JsonNode none = node.find("recompute_none")) f.recompute_none = none.boolean();
  if (const JsonNode scores = node.find("stored_scores")) f.stored_scores = scores.boolean();
  f.source = read_source_id(node.at("source"), sources);
  return f;
}

}  // namespace

void read_corpus(const JsonNode& root, const Sources& sources, Corpus& corpus) {
  root.allow_only({"frameworks", "fabrics", "megatron_defaults", "vocabularies", "logit_bytes",
                   "deterministic_workspaces_bytes", "prediction_layer_above_flops", "recipe_layers_filled",
                   "adapter_rank"});
  for (const JsonNode& node : root.at("frameworks").items())
    corpus.frameworks.push_back(read_framework(node, sources));
  for (const JsonNode& node : root.at("fabrics").items()) {
    node.allow_only({"source_key", "fabric", "source"});
    corpus.fabrics.push_back(
        {node.at("source_key").text(), node.at("fabric").text(), read_source_id(node.at("source"), sources)});
  }
  const auto group = [&](const char* name, auto&&... members) {
    const JsonNode node = root.at(name);
    node.allow_only({members.first...});
    const auto read = [&](const auto& member) {
      using Q = decltype(member.second->value);
      *member.second = read_positive<Q>(node.at(member.first), sources);
    };
    (read(members), ...);
  };
  group("megatron_defaults", std::pair{"router_top_k", &corpus.router_top_k},
        std::pair{"mlp_over_hidden", &corpus.mlp_over_hidden},
        std::pair{"gated_width_multiple", &corpus.gated_width_multiple});
  group("vocabularies", std::pair{"gpt2", &corpus.vocabulary_gpt2},
        std::pair{"llama2", &corpus.vocabulary_llama2}, std::pair{"nemotron", &corpus.vocabulary_nemotron});
  group("logit_bytes", std::pair{"native_fused", &corpus.logit_native_fused},
        std::pair{"flash_attention", &corpus.logit_flash_attention});
  corpus.workspaces_deterministic =
      read_positive<Bytes<>>(root.at("deterministic_workspaces_bytes"), sources);
  corpus.prediction_layer_above = read_positive<Flops<>>(root.at("prediction_layer_above_flops"), sources);
  corpus.recipe_layers_filled = read_positive<Ratio<>>(root.at("recipe_layers_filled"), sources);
  corpus.adapter_rank = read_positive<Ratio<>>(root.at("adapter_rank"), sources);
}

}  // namespace shardplan
