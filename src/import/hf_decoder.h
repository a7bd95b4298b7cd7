// Builds a Model's layers from a config: the general decoder, and the architectures that need their own code.
//
//   build_decoder(reader, architecture->traits, model);
//   if (reader.failed()) return reader.error();
//
// Builders never throw; what is wrong stays in the reader. Not here: tying, quantization, vision towers
// (hf_extras.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "catalog/model.h"
#include "import/config_reader.h"
#include "import/hf_architectures.h"

namespace shardplan {

using Builder = void(ConfigReader& reader, const Traits& traits, Model& model);
Builder build_decoder, build_pangu, build_chatglm, build_reward_model, build_falcon, build_mpt, build_opt,
    build_gemma3n, build_gemma4, build_deepseek_v4, build_nemotron_h, build_mamba2, build_jamba, build_dbrx;

/// What the file says of attention heads; by layer only where the file has lists.
struct Heads {
  std::int64_t heads = 1, head_dim = 1;
  std::vector<std::int64_t> kv_heads;  // one a layer
};

// Steps of build_decoder that the other builders use too.
bool rule_holds(ConfigReader& reader, const char* rule);
std::int64_t norm_size(NormKind kind, std::int64_t hidden);
/// hidden, vocab, max_positions, final norm; returns the number of layers (model.layers is sized to it).
std::int64_t read_size(ConfigReader& reader, const Traits& traits, Model& model);
std::int64_t read_heads_total(ConfigReader& reader);
std::int64_t read_head_dim(ConfigReader& reader, std::int64_t hidden, std::int64_t heads);
Heads read_heads(ConfigReader& reader, const Traits& traits, std::int64_t hidden, std::int64_t layers);
Attention attention_of(ConfigReader& reader, const Traits& traits, const Heads& heads, std::int64_t layer);
/// The kind of each layer, as transformers' layer_types names them, from the file or from the class's rule.
std::vector<std::string> read_layer_types(ConfigReader& reader, const Traits& traits, std::int64_t layers);
void set_windows(ConfigReader& reader, const Traits& traits, const std::vector<std::string>& types,
                 Model& model);
void set_mlps(ConfigReader& reader, const Traits& traits, Model& model);
MoeMlp read_experts(ConfigReader& reader, const Traits& traits, std::int64_t layer, std::int64_t layers);
/// One module a multi-token-prediction layer: the model's last layer, a projection of two hidden states,
/// norms.
void add_mtp(ConfigReader& reader, const Traits& traits, Model& model);

}  // namespace shardplan
