// What would make room: what lies next to a plan, each held against what it frees and what it costs.
//
//   for (const Remedy& r : remedies(estimator, plan, needed, catalog.quantized_bases)) ...
//   // {"pp 4 to 8, dp 2 to 1", plan, ...}, by step time; then what changes the training
//
// A neighbour changes one thing, for the same GPUs and the same batch: micro-batch halved, more recomputed, a
// degree doubled at the cost of another, more sharded (over all replicas or inside a node), kept on the host
// or, where the host is full, no longer kept there.
// Beside them stand a narrower optimizer, narrower products and adapters, which train something else. Not
// here: the best plan of all (search/search.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "estimate/estimator.h"

namespace shardplan {

struct Remedy {
  std::string change;  // "tp 4 to 8, dp 2 to 1"
  Plan plan;
  Bytes<> memory;                 // of the fullest stage
  Bytes<> freed;                  // of the device; below zero where what was on the host comes back
  Ratio<> step;                   // time of a step over that of the plan it replaces
  bool changes_training = false;  // other numbers come out: only where the goal allows it
  Bytes<> host{};                 // what a node needs of its host's memory; 0 = nothing is offloaded
};

/// Those that free at least `needed` on the fullest stage, and whose host has room: first those that train
/// the same, then the others, each least step time first. Two changes of the plan stand there where they cost
/// less than the cheapest one that is enough, or where none is; what trains differently, with a change of the
/// plan where it is not enough alone. `bases`: formats in which a frozen base can be kept.
std::vector<Remedy> remedies(const Estimator& estimator, const Plan& plan, Bytes<> needed,
                             std::span<const BlockFormat> bases = {});

/// The same for a plan that offloads more than the host has: what then fits the host and the device.
std::vector<Remedy> host_remedies(const Estimator& estimator, const Plan& plan,
                                  std::span<const BlockFormat> bases = {});

/// The same question trained otherwise: a narrower optimizer, narrower products, adapters alone.
struct TrainingVariant {
  const char* id;      // "optimizer", "precision", "adapters"
  std::string change;  // "optimizer adamw to adamw-8bit"
  Question question;
};
std::vector<TrainingVariant> training_variants(const Question& question,
                                               std::span<const BlockFormat> bases = {});

/// Whether one of them leaves alone what is trained.
bool keeps_training(const std::vector<Remedy>& remedies);

/// What differs, in the words of the flags.
std::string change_words(const Plan& from, const Plan& to);

}  // namespace shardplan
