// The space of plans: which are legal for a question, and all of them in a fixed order.
//
// Legality is divisibility and what the schedule, the framework and the model allow; fitting memory is not
// part of it (estimate/). One place for both, so that the size of the space can be tested.
//
//   Space space(question);
//   space.for_each(fixed, [&](const Plan& p) { ... });    // every legal plan, each once
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "catalog/question.h"

namespace shardplan {

/// What a plan can fail. The first group is legality, the second memory.
enum class Constraint {
  kGpuCount,     // degrees multiply to the GPU count
  kHeads,        // tensor parallelism divides attention heads and key-value heads
  kWidths,       // tensor parallelism divides the MLP widths
  kLayers,       // at least one layer a pipeline chunk; interleaving divides evenly
  kSequence,     // context and sequence parallelism divide the sequence
  kExperts,      // expert parallelism divides the experts and the ranks
  kBatch,        // the global batch divides over replicas and micro-batches
  kSchedule,     // schedule, interleaving and micro-batches agree
  kZero,         // the framework has the ZeRO stage and offload, and there is something to shard over
  kRankOrder,    // the order of the ranks leaves expert, shard and pipeline groups whole
  kState,        // memory: weights, gradients and optimizer state alone exceed what is usable
  kActivations,  // memory: with activations
  kLogits,       // memory: with logits and loss
  kTransients,   // memory: with working buffers
  kHostMemory,   // memory: what a node's ranks offload exceeds what its host has
};
inline constexpr int kConstraintCount = 15;
const char* name(Constraint constraint);

struct Violation {
  Constraint constraint = Constraint::kGpuCount;
  double required = 0;   // what the plan needs: a degree's multiple, or bytes
  double available = 0;  // what there is
  std::string where;     // "tensor parallelism 16 does not divide 40 heads", "stage 0"
};

/// How many layers the first and the last chunk of a pipeline hold, where they are told apart from the
/// others; and the largest chunk.
struct Dealing {
  std::int16_t first = Plan::kEven, last = Plan::kEven;
  std::int16_t between = 0;  // of each chunk between them; of the smallest where all are dealt evenly
  std::int16_t largest = 0;
  bool even() const { return first == Plan::kEven; }
};
/// All ways to deal the layers to so many chunks, those with smaller largest chunks first.
struct Dealings {
  std::vector<Dealing> all;
  std::vector<std::int64_t>
      largest_from;  // sum of this one's and the later ones', by index; 0 after the last

  explicit Dealings(std::vector<Dealing> dealings);
};
/// The dealings that agree with what is told of the first and the last chunk: by chunks, and whether all may
/// be dealt evenly.
using ToldDealings = std::map<std::pair<std::int64_t, bool>, Dealings>;

/// A schedule and its interleaving, and how its chunks can be dealt.
struct Pipeline {
  Plan plan;  // evenly
  const Dealings* dealings;
};

/// The legal plans of one layout, as what they are chosen from: any micro-batch's any pipeline, any of the
/// recomputations it can have, any way to share and keep state. Every such choice is legal, so that they are
/// counted without being visited.
struct LayoutPlans {
  /// By micro-batch: plans of the layout that differ in schedule and interleaving. None is empty.
  std::vector<std::vector<Pipeline>> pipelines;
  std::vector<Recompute> recomputes;         // that every pipeline can have
  bool layers_in_part = false;               // the first ones of each chunk may be
  bool layers_in_groups = false;             // all may be, with one input kept for several
  std::vector<Plan> states;                  // ZeRO stage, shard group and offload; nothing else is read
  std::shared_ptr<const ToldDealings> told;  // pipelines refer to them

  /// Largest N of Recompute::block(N) that recomputes less than all layers of the pipeline.
  std::int32_t most_in_part(const Dealing& dealing) const { return layers_in_part ? dealing.largest - 1 : 0; }
  /// Largest N of Recompute::uniform(N), where it is more than 1.
  std::int32_t most_in_group(const Dealing& dealing) const { return layers_in_groups ? dealing.largest : 1; }
  /// Recomputations of layers in part and in groups.
  std::int64_t by_layers(const Dealing& dealing) const {
    return most_in_part(dealing) + most_in_group(dealing) - 1;
  }
  /// With the pipeline's i-th dealing and those after it.
  std::int64_t count(const Pipeline& pipeline, std::size_t from = 0) const;
  std::int64_t count(const std::vector<Pipeline>& of_micro_batch) const;
  std::int64_t count() const;
  /// The i-th of them, in the order of Space::for_each_of.
  Plan plan(std::int64_t i) const;
};
/// A plan with a pipeline's layers dealt in one way.
Plan dealt(Plan plan, const Dealing& dealing);
/// Of the ranks of a dealt pipeline, at the least: layers of the fullest and of the last one, and of the
/// first chunks of those before the last. The fullest has one chunk beside those of the middle.
struct RankLayers {
  std::int64_t fullest = 0, last = 0, before = 0;
  std::int64_t beside = 0;
};
RankLayers rank_layers(const Plan& plan, const Dealing& dealing);

class Space {
 public:
  explicit Space(const Question& question);

  /// Nothing when the plan is legal, else the first rule it breaks. No allocation.
  std::optional<Constraint> first_broken(const Plan& plan) const;
  /// The same with the numbers, for people.
  std::optional<Violation> violation(const Plan& plan) const;
  /// Every rule that it breaks, in the order of Constraint; of its state only where its experts are legal.
  std::vector<Constraint> all_broken(const Plan& plan) const;
  /// One of the rules that it breaks, in words.
  Violation violation(const Plan& plan, Constraint broken) const;
  /// The group sizes (tp, cp, pp, dp, ep, etp), with sequence parallelism and without, their ranks in every
  /// order, that agree with `fixed` and may have legal plans.
  std::vector<Plan> layouts(const FixedAxes& fixed) const;
  /// Of each of them, in that order, whether an earlier one differs in the order of its ranks alone and has
  /// every group on the same tiers.
  std::vector<char> placed_as_earlier(const std::vector<Plan>& layouts) const;
  /// The plans of one of them.
  LayoutPlans plans_of(const Plan& layout, const FixedAxes& fixed) const;
  /// Of them the ways to share and keep state.
  std::vector<Plan> states_of(const Plan& layout, const FixedAxes& fixed) const;
  /// Visits every legal plan of one of them, each once; micro-batch, pipeline, recomputation, dealing, state
  /// turn faster in that order. Returns how many.
  std::int64_t for_each_of(const Plan& layout, const FixedAxes& fixed,
                           const std::function<void(const Plan&)>& visit) const;
  /// Visits every legal plan that agrees with `fixed`, each once, layout by layout.
  std::int64_t for_each(const FixedAxes& fixed, const std::function<void(const Plan&)>& visit) const;
  /// Visits so many plans of each layout, evenly spread; all where it has no more.
  void for_some(const FixedAxes& fixed, std::int64_t of_each_layout,
                const std::function<void(const Plan&)>& visit) const;
  /// How many plans are legal.
  std::int64_t count(const FixedAxes& fixed) const;

 private:
  /// The first rule that the group sizes break; micro-batches, pipeline and dealing; neither reads the state.
  std::optional<Constraint> layout_breaks(const Plan& p) const;
  std::optional<Constraint> pipeline_breaks(const Plan& p) const;
  bool sequence_allows(const Plan& p) const;
  bool kv_heads_allow(std::int64_t tp) const;
  bool layers_allow(const Plan& p) const;
  bool experts_allow(const Plan& p) const;
  bool batch_allows(const Plan& p) const;
  bool state_allowed(const Plan& p) const;
  bool stage_allowed(const Plan& p) const;
  static bool shard_group_allowed(const Plan& plan);
  bool rank_order_allowed(const Plan& plan) const;
  /// Where the order has the pipeline inside, experts have as many replicas as all else.
  bool same_replicas(const Plan& plan) const;
  void add_orders(const Plan& layout, const FixedAxes& fixed, std::vector<Plan>& layouts) const;
  /// The framework can keep in the host's memory what is to be kept there.
  bool offload_allowed(const Plan& plan) const;
  std::vector<Pipeline> pipelines_of(const Plan& layout, const FixedAxes& fixed, ToldDealings* told) const;
  void list_recomputes();
  void list_dealings();
  /// All ways to deal, the even one where it may be; those that `fixed` leaves of them.
  std::vector<Dealing> ways_to_deal(std::int64_t chunks, bool even, bool uneven) const;
  std::vector<Dealing> told_ways(std::int64_t chunks, bool even, const FixedAxes& fixed) const;
  /// Those that are legal for the pipeline of a plan; nullptr where none is.
  const Dealings* dealings_of(const Plan& plan, const FixedAxes& fixed, ToldDealings* told) const;

  const Question& question_;
  std::int64_t layers_ = 0;
  std::int64_t heads_ = 0;    // greatest common divisor over layers, 0 = no layer has any
  std::int64_t widths_ = 0;   // of dense and shared MLP widths
  std::int64_t experts_ = 0;  // of expert counts, 0 = dense model
  std::int64_t expert_widths_ = 0;
  std::vector<std::int64_t> kv_heads_;  // distinct counts
  std::vector<Recompute> recomputes_;
  // By chunks: all dealings, and those without the even one, for pipelines that may not have it.
  std::vector<Dealings> dealings_, uneven_;
};

/// All divisors of n, increasing.
std::vector<std::int64_t> divisors(std::int64_t n);

}  // namespace shardplan
