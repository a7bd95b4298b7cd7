// Does a model serve on a cluster: memory, time of a token and of a prompt under each degree of tensor
// parallelism, the best of them, and what binds it.
//
//   ServeAnswer a = serve_answer(question);
//   a.shown().cost.step(), a.feasible(), a.findings.binding.statement
//
// Not here: queues and percentiles, mixtures of experts, pipelines (catalog/serving.h refuses them).
#pragma once

#include <optional>
#include <vector>

#include "catalog/serving.h"
#include "estimate/decode.h"
#include "reason/answer.h"

namespace shardplan {

struct ServePlan {
  Plan plan;
  DecodeCost<> cost;
  bool fits = false;   // weights and cache of the batch in what is usable
  bool meets = false;  // the limit on a token's time; true where none is told

  TokensPerSecond<> tokens_per_gpu() const;
};

struct ServeAnswer {
  ServeQuestion question;
  std::vector<ServePlan> plans;  // every legal degree, increasing
  /// The lowest time of a token among those that fit and meet the limit, else the one that comes closest.
  std::size_t chosen = 0;
  /// Plans that fit and that no other beats in both time of a token and tokens a GPU.
  std::vector<std::size_t> pareto;
  Answer findings;  // what binds, failure modes, thresholds, unknowns

  const ServePlan& shown() const { return plans[chosen]; }
  bool feasible() const { return shown().fits && shown().meets; }
};

/// The plans that are legal: at least one, as why_illegal() was asked before.
ServeAnswer serve_answer(const ServeQuestion& question);

/// The degree and load of a plan.
DecodeCase decode_case(const ServeQuestion& question, const Plan& plan);

}  // namespace shardplan
