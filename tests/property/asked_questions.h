// Questions that tests ask of the whole search: some fit easily, some barely, some not at all.
//
//   for (const Asked& asked : kAsked) search(Estimator(question(asked)), {});
//
// Not here: what is expected of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "import/catalog.h"
#include "import/question.h"

namespace shardplan {

struct Asked {
  const char *model, *gpu, *gpus, *sequence, *batch, *framework;
  /// Of the model, its first one and its last ones. Then all that an engine can have is searched, whichever
  /// the catalog says of the framework; else the usual plans.
  std::size_t layers = 0;
  const char* host_memory = nullptr;
};

inline Question question(const Asked& asked) {
  QuestionSpec spec;
  spec.model = asked.model;
  spec.gpu = asked.gpu;
  spec.gpus = asked.gpus;
  spec.seq = asked.sequence;
  spec.global_batch = asked.batch;
  spec.framework = asked.framework;
  if (asked.host_memory != nullptr) spec.host_memory = asked.host_memory;
  Question q = build_question(spec, catalog()).value();
  if (asked.layers == 0) return q;
  Framework::Engine& engine = q.framework.engine;
  std::vector<Layer>& layers = q.model.layers;
  layers.erase(layers.begin() + 1, layers.end() - static_cast<std::ptrdiff_t>(asked.layers - 1));
  engine.schedules = {Schedule::kGpipe, Schedule::k1F1B, Schedule::kInterleaved,
                      Schedule::kZbH1,  Schedule::kZbV,  Schedule::kDualPipe};
  engine.shard_groups = engine.recomputed_layers = engine.recomputed_groups = engine.recomputed_modules =
      engine.whole_sequences = engine.uneven_ends = Source{};
  engine.rank_orders.clear();
  for (const char* order : {"tp-cp-dp-pp", "tp-cp-pp-dp", "cp-tp-pp-dp", "pp-dp-tp-cp"})
    engine.rank_orders.push_back(rank_order_named(order).value());
  q.whole_space = true;
  return q;
}

// Some fit easily, some barely, some not at all; GPU counts of one, odd and several primes.
inline const std::vector<Asked> kAsked{
    {"llama3-8b", "h100-sxm", "8", "8192", "64", "generic"},
    {"llama3-8b", "h100-sxm", "24", "4096", "48", "megatron"},
    {"llama3-70b", "h100-sxm", "64", "8192", "128", "megatron"},
    {"llama3-70b", "a100-40gb-sxm", "16", "4096", "32", "generic"},
    {"gpt3-175b", "a100-80gb-sxm", "64", "2048", "96", "torchtitan"},
    {"qwen3-235b-a22b", "h100-sxm", "32", "4096", "32", "generic"},
    {"gpt-oss-120b", "b200", "8", "8192", "16", "megatron"},
    {"llama3-8b", "h100-sxm", "1", "4096", "4", "fsdp"},
    {"llama3-8b", "l40s", "6", "2048", "12", "deepspeed"},
    {"llama3-70b", "h100-sxm", "8", "4096", "8", "generic", 6},
    {"gpt3-175b", "a100-40gb-sxm", "12", "2048", "12", "megatron", 5},
    {"gpt3-175b", "a100-80gb-sxm", "64", "2048", "16", "megatron", 7},
    {"deepseek-v3", "h100-sxm", "8", "4096", "4", "generic", 3},
    {"gpt3-175b", "a100-40gb-sxm", "4", "2048", "8", "deepspeed", 4, "400"},
};

inline std::string said(const Asked& a) {
  return std::string(a.model) + " on " + a.gpus + " x " + a.gpu + ", " + a.framework;
}

/// Bounds on the stage of ZeRO and on the ranks that it shards over; what may be told of the layers of the
/// first and the last chunk.
inline std::vector<FixedAxes> some_bounds() {
  std::vector<FixedAxes> all(9);
  all[0].bounds_of(Degree::kZero) = {1, 2};
  all[1].bounds_of(Degree::kShardGroup).most = 4;
  all[2].bounds_of(Degree::kZero).least = 2;
  all[2].bounds_of(Degree::kShardGroup) = {2, 8};
  all[3].bounds_of(Degree::kZero).most = 0;
  all[4].first_layers = 1;
  all[5].last_layers = 2;
  all[5].first_layers = 0;
  all[6].bounds_of(Degree::kFirstLayers).least = 2;
  all[6].bounds_of(Degree::kLastLayers).most = 1;
  all[7].last_layers = 0;
  all[8].bounds_of(Degree::kLastLayers) = {2, 3};
  return all;
}

}  // namespace shardplan
