// Every way to serve: each legal split at the best batch that keeps the limits, prompts computed by the same
// replicas or by others, and the front between tokens of a GPU and tokens of a user.
//
//   ServeSearch found = search_serving(question);
//   found.best().cost.tpot, found.front
//
// Exact: a token and a first token take longer with every further request, so the largest batch that keeps a
// limit is found by halving; every other batch is worse for every goal. Not here: what a split and a batch
// take (estimate/serve.h), which splits are legal (serve_splits.h), reasons (reason/serve_answer.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "catalog/serving.h"
#include "estimate/serve.h"

namespace shardplan {

/// Replicas that compute prompts for those that decode.
struct PrefillPool {
  ServeSplit split;
  std::int64_t replicas = 1;
  PrefillCost<> cost;
  Ratio<> busy;  // share of the time
  std::int64_t gpus() const { return split.gpus() * replicas; }
};

struct ServePlan {
  Plan plan;  // dp counts replicas and groups of attention; ep is 1 where experts are cut like all else
  ServeSplit split;
  std::int64_t replicas = 1, batch = 1;
  ServeCost<> cost;
  std::optional<PrefillPool> prefill;
  bool fits = false, meets = false;
  Seconds<> ttft{};        // with the prefill pool's, where there is one
  PerSecond<> requests{};  // all replicas; 0 where the answers' length is not told
  std::int64_t gpus() const { return split.gpus() * replicas + (prefill ? prefill->gpus() : 0); }
  TokensPerSecond<> tokens() const;  // output, all replicas
  TokensPerSecond<> tokens_per_gpu() const { return tokens() / static_cast<double>(gpus()); }
  bool good() const { return fits && meets; }
};

struct ServeSearch {
  std::vector<ServePlan> plans;  // the best of each split, in the order of splits; those apart behind them
  std::size_t chosen = 0;
  std::vector<ServePlan> front;  // by rising tokens of a user
  std::int64_t judged = 0;       // splits and batches
  const ServePlan& best() const { return plans[chosen]; }
};

/// Of a question with at least one legal split.
ServeSearch search_serving(const ServeQuestion& question);

/// The best of it alone, without a front.
ServePlan search_best(const ServeQuestion& question);

/// One split at one batch, replicas as the cluster has them.
ServePlan serve_plan(const ServeQuestion& question, const ServeSplit& split, std::int64_t batch,
                     bool prompts_elsewhere = false);
/// The same at the batch that the question's goal and limits choose.
ServePlan best_of_split(const ServeQuestion& question, const ServeSplit& split);
/// One split whose prompts others compute, at the largest batch that keeps the limit on a token.
ServePlan decoding_only(const ServeQuestion& question, const ServeSplit& split);
/// The plan's split, batch, replicas and prefill pool under another question.
ServePlan judged_again(const ServeQuestion& question, const ServePlan& plan);
/// Whether `a` is to be shown rather than `b`.
bool better(const ServeQuestion& question, const ServePlan& a, const ServePlan& b);

}  // namespace shardplan
