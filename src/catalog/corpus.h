// What is needed to read the corpus of published runs and stands in none of its columns: whose buffers a
// run's framework has, how long a vocabulary is, what a flag of a launcher means in bytes.
//
//   catalog().corpus.framework_of("Megatron-DeepSpeed (BLOOM tuning)")->framework   // "deepspeed"
//
// Data: catalog/corpus.json. Not here: how a row is read (validate/training_run.cpp), what a framework keeps
// (workload.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/source.h"

namespace shardplan {

/// What the corpus calls a framework, by the beginning of its text, and how it was run where its source is
/// silent.
struct CorpusFramework {
  std::string prefix;
  std::string framework;           // of catalog/frameworks.json
  std::string timing;              // of catalog/timing.json; empty: the framework's usual
  std::string memory_gap;          // why the account does not tell its bytes; or empty
  bool sequence_parallel = false;  // where tp > 1
  std::optional<int> zero_stage;   // none: a row that does not print it is skipped
  bool recompute_none = false;     // a blank recomputation means none
  bool stored_scores = false;      // it was before flash attention
  Source source;
};

/// The network of a source's runs, where it differs from what the device usually has.
struct CorpusFabric {
  std::string source_key, fabric;
  Source source;
};

struct Corpus {
  std::vector<CorpusFramework> frameworks;  // the first prefix that fits counts
  std::vector<CorpusFabric> fabrics;
  // Megatron's argument parser: what it takes for what is not told.
  Sourced<Ratio<>> router_top_k, mlp_over_hidden, gated_width_multiple;
  Sourced<Ratio<>> vocabulary_gpt2, vocabulary_llama2, vocabulary_nemotron;
  Sourced<Bytes<>> logit_native_fused, logit_flash_attention;  // alive for each logit at the loss
  Sourced<Bytes<>> workspaces_deterministic;                   // of the matrix library
  Sourced<Flops<>> prediction_layer_above;  // of a token: more than the main layers of DeepSeek-V3 need
  Sourced<Ratio<>> recipe_layers_filled;    // that recipes of DeepSeek-V3 and Kimi-K2 deal to their chunks
  Sourced<Ratio<>> adapter_rank;            // of recipes that do not print it

  const CorpusFramework* framework_of(std::string_view text) const {
    for (const CorpusFramework& f : frameworks) {
      if (text.starts_with(f.prefix)) return &f;
    }
    return nullptr;
  }
};

}  // namespace shardplan
