// What the model says about one plan: memory of each pipeline stage by term, step time by term. Quantities
// only.
//
// A breakdown is an array indexed by term; its total is defined as the sum of its parts.
#pragma once

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "catalog/evidence.h"
#include "catalog/plan.h"
#include "cost/group_collectives.h"
#include "formula/traced.h"
#include "graph/space.h"

namespace shardplan {

enum class MemoryTerm { kWeights, kGradients, kOptimizer, kActivations, kLogits, kTransient, kBuffers };
inline constexpr std::size_t kMemoryTermCount = 7;
const char* name(MemoryTerm term);

template <class N = double>
struct MemoryBreakdown {
  std::array<Bytes<N>, kMemoryTermCount> terms{};
  Bytes<N>& operator[](MemoryTerm t) { return terms[static_cast<std::size_t>(t)]; }
  const Bytes<N>& operator[](MemoryTerm t) const { return terms[static_cast<std::size_t>(t)]; }
  Bytes<N> state() const {
    return (*this)[MemoryTerm::kWeights] + (*this)[MemoryTerm::kGradients] + (*this)[MemoryTerm::kOptimizer];
  }
  /// Between steps: no activation, no logit, no working buffer.
  Bytes<N> steady() const { return state() + (*this)[MemoryTerm::kBuffers]; }
  Bytes<N> total() const {
    Bytes<N> sum = terms[0];
    for (std::size_t i = 1; i < kMemoryTermCount; ++i) sum += terms[i];
    return sum;
  }
};

/// The same peak by three counters: torch's allocated and reserved bytes, and the driver's (nvidia-smi).
template <class N = double>
struct MemoryPeaks {
  Bytes<N> allocated{}, reserved{}, driver{};
};

/// What waits in the host's memory for one rank.
template <class N = double>
struct HostMemory {
  Bytes<N> weights{}, gradients{}, optimizer{}, activations{};
  Bytes<N> total() const { return weights + gradients + optimizer + activations; }
};

/// Whether a total fits. Tight: what is usable lies inside the error band of the total.
enum class Verdict { kFits, kTight, kNo };
const char* name(Verdict verdict);
/// `band` = null: no run of this kind was ever measured, and the total is taken at its word.
Verdict verdict_of(Bytes<> total, Bytes<> usable, const ErrorBand* band);

/// The memory of one plan, stage by stage, beside what there is.
struct MemoryAccount {
  std::vector<MemoryBreakdown<>> by_stage;
  std::vector<MemoryPeaks<>> peaks;  // of each stage
  std::vector<HostMemory<>> host;    // of a rank of each stage
  std::int64_t ranks_of_host = 1;    // that share one host's memory
  std::size_t fullest = 0;
  Bytes<> layer_activations;  // what one layer of the first kind keeps for one micro-batch
  Bytes<> usable, hbm;
  const MemoryBreakdown<>& worst() const { return by_stage[fullest]; }
  Bytes<> headroom() const { return usable - worst().total(); }
};

enum class TimeTerm {
  kGemm,           // matrix products of the layers, forward and backward
  kAttention,      // attention cores and recurrent scans
  kMemoryBound,    // norms, rotary embedding, activation functions, residual adds
  kLogits,         // head and loss
  kRecompute,      // forward work done again
  kLaunch,         // device waiting for the host's launches
  kTensor,         // tensor-parallel collectives
  kContext,        // context-parallel ring
  kExpert,         // expert all-to-all
  kData,           // gradient reduction, parameter gathers
  kPipelineSends,  // activations between stages
  kBubble,         // pipeline fill and drain
  kImbalance,      // waiting for the slowest stage
  kOptimizer,
  kOffload,     // to the host's memory and back, the optimizer step there
  kStragglers,  // waiting for the slowest rank
  kStep,        // fixed time of a step: logging, host work between steps
  kLoading,     // reading the batch, as far as it was told
};
inline constexpr std::size_t kTimeTermCount = 18;
const char* name(TimeTerm term);

template <class N = double>
struct TimeEntry {
  Seconds<N> time{};    // spent in all
  Seconds<N> hidden{};  // of it, beside other work
  Seconds<N> exposed() const { return time - hidden; }
};

/// The communication of one axis in a step: what it costs, what it may hide under.
template <class N = double>
struct AxisCost {
  GroupCost<N> group;      // one occurrence
  Seconds<N> window{};     // compute that may run beside one occurrence
  double bytes = 0;        // of one occurrence: the whole vector
  double occurrences = 0;  // in a step
  Seconds<N> once() const { return group.cost.total(); }
};
enum class Axis { kTensor, kContext, kExpert, kData, kPipeline };
inline constexpr std::size_t kAxisCount = 5;
const char* name(Axis axis);

template <class N = double>
struct TimeBreakdown {
  std::array<TimeEntry<N>, kTimeTermCount> terms{};
  std::array<AxisCost<N>, kAxisCount> axes{};
  /// Weights that ZeRO gathers beside the forward pass; what it gathers in the backward pass is kData's.
  AxisCost<N> gather{};
  TimeEntry<N>& operator[](TimeTerm t) { return terms[static_cast<std::size_t>(t)]; }
  const TimeEntry<N>& operator[](TimeTerm t) const { return terms[static_cast<std::size_t>(t)]; }
  AxisCost<N>& axis(Axis a) { return axes[static_cast<std::size_t>(a)]; }
  const AxisCost<N>& axis(Axis a) const { return axes[static_cast<std::size_t>(a)]; }
  /// The step: the sum of the exposed parts.
  Seconds<N> total() const {
    Seconds<N> sum = terms[0].exposed();
    for (std::size_t i = 1; i < kTimeTermCount; ++i) sum += terms[i].exposed();
    return sum;
  }
};

/// What a step comes to: output of a GPU, and the share of its FLOP that is used.
template <class N = double>
struct StepRates {
  TokensPerSecond<N> tokens_per_gpu{};
  Ratio<N> mfu{}, hfu{};
};

struct Estimate {
  Plan plan;
  MemoryBreakdown<> memory;  // of the fullest stage
  int fullest_stage = 0;
  Bytes<> usable, hbm;
  TimeBreakdown<> time;
  Seconds<> step;
  TokensPerSecond<> tokens_per_gpu;
  Ratio<> mfu, hfu;
  Bytes<> headroom() const { return usable - memory.total(); }
};

using Outcome = std::variant<Estimate, Violation>;

/// MFU and HFU of one step as one family of sources counts them.
struct Utilisation {
  const char* convention;  // "causal"
  const char* counts;      // what, in words
  const char* where;       // who counts so
  Ratio<> mfu, hfu;
};

/// The FLOP convention of mfu and hfu, in words.
constexpr const char* flops_convention(const Training& workload) {
  return workload.adapters.rank > 0
             ? "4 x active matrix parameters, frozen, without the adapters' products + causal attention halved; "
               "hfu adds recomputed work"
             : "6 x active matrix parameters + causal attention halved; hfu adds recomputed work";
}

}  // namespace shardplan
