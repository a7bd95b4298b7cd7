// Does one layout fit: memory by term and by stage, the floor under every plan, and layouts that do fit.
//
//   MemoryAnswer a = memory_answer(estimator, plan, 4);   // a.fits, a.memory.worst(), a.floor.min_gpus
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "catalog/parameters.h"
#include "reason/remedies.h"
#include "search/search.h"

namespace shardplan {

/// 16 Psi / N against usable memory: no plan of any kind keeps less on its fullest GPU.
struct Floor {
  Bytes<> state, state_per_gpu, usable;
  bool feasible = false;
  double min_gpus = 0;              // smallest integer N with state / N <= usable
  double min_gpus_whole_nodes = 0;  // the next whole number of nodes
};

/// The fewest GPUs, in whole nodes, on which some plan fits, and the fastest one there.
struct SmallestCluster {
  std::int64_t gpus = 0;
  Estimate best;
  Bytes<> host{};  // what a node keeps in its host's memory there
};

struct MemoryAnswer {
  Plan plan;
  ParameterCount count;
  double parameters = 0;  // of the state: the count, or what was declared by hand
  double trained = 0;     // of them: all, or the adapters beside them
  MemoryAccount memory;
  Verdict verdict = Verdict::kNo;
  bool fits = false;              // tight included
  std::optional<ErrorBand> band;  // of the total; none where no run of this kind was measured
  std::vector<Tensor> largest;    // of the fullest stage, by what they hold at the peak
  std::vector<Remedy> remedies;   // where it does not fit: what would make it; where it is tight: for sure
  std::optional<Constraint> broken;
  Bytes<> total_ops;  // of the fullest stage, op by op whatever the question asks for
  Bytes<> host;       // what a node keeps in its host's memory
  /// Where it does not clearly fit and the setting is off: the reserved peak less that with expandable
  /// segments.
  std::optional<Bytes<>> joined;
  Bytes<> layer_paper, layer_ops;  // what one layer of the first kind keeps for one micro-batch
  Floor floor;
  std::optional<SmallestCluster> smallest;             // where it does not fit
  std::optional<SmallestCluster> smallest_offloading;  // where a host would make it smaller
  bool suggested = false;
  SearchResult suggestions;                      // filled when asked for
  std::vector<MemoryAccount> suggestion_memory;  // the best one's, then the others'
};

Floor state_floor(const Estimator& estimator);

/// GPUs that are bought together: of a rack-wide or pod-wide scale-up domain, those of one host.
std::int64_t gpus_of_node(const Cluster& cluster);

/// Of the best plan, then of the runners-up.
std::vector<MemoryAccount> memory_accounts(const Estimator& estimator, const SearchResult& result);

/// `suggest` = how many layouts that fit to list, 0 = none. `bases` as remedies() takes them.
MemoryAnswer memory_answer(const Estimator& estimator, const Plan& plan, const FixedAxes& fixed,
                           std::size_t suggest, const Evidence& evidence = {},
                           std::span<const BlockFormat> bases = {});

}  // namespace shardplan
