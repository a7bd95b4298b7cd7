// A plan: the degrees of every axis of parallelism and what each rank does with its memory.
//
// Small, trivially copyable, totally ordered, with a canonical text. Which plans are legal for a model and a
// cluster is decided in one place, graph/space.h.
//
//   Plan p; p.tp = 8; p.pp = 4; p.dp = 2;   canonical(p)   // "dp2·tp8·pp4·z1·mb1·selective"
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace shardplan {

/// Parts of a layer that can be run again in the backward pass, each a bit; names as Megatron spells them.
enum class Module : std::uint8_t {
  kCoreAttention = 1,
  kMoeActivation = 2,
  kLayerNorm = 4,
  kMlaUpProjection = 8,
  kMlp = 16,
  kMoe = 32,
  kSharedExperts = 64,
};
inline constexpr int kModuleCount = 7;
const char* name(Module module);

/// Which forward work is run again instead of kept. Three are common enough to be searched and have names.
struct Recompute {
  enum class Kind : std::int8_t {
    kNone,
    kModules,  // parts of every layer
    kBlock,    // the first `layers` layers of every chunk, whole; the others are kept
    kUniform,  // every layer, in groups of `layers` that keep one input
  };
  Kind kind = Kind::kNone;
  std::uint8_t modules = 0;
  std::int32_t layers = 0;

  static const Recompute kNone, kSelective, kFull;

  static constexpr Recompute of_modules(std::uint8_t modules) { return {Kind::kModules, modules, 0}; }
  static constexpr Recompute block(std::int32_t layers) { return {Kind::kBlock, 0, layers}; }
  static constexpr Recompute uniform(std::int32_t layers) { return {Kind::kUniform, 0, layers}; }

  auto operator<=>(const Recompute&) const = default;
  bool has(Module module) const { return (modules & static_cast<std::uint8_t>(module)) != 0; }
  /// Whole layers are run again, some or all.
  bool whole_layers() const { return kind == Kind::kBlock || kind == Kind::kUniform; }
};
inline constexpr Recompute Recompute::kNone{};
inline constexpr Recompute Recompute::kSelective =
    Recompute::of_modules(static_cast<std::uint8_t>(Module::kCoreAttention));
inline constexpr Recompute Recompute::kFull = Recompute::uniform(1);

/// What is kept in the host's memory instead of the device's, each a bit.
enum class Offload : std::uint8_t { kOptimizer = 1, kParameters = 2, kActivations = 4 };
inline constexpr int kOffloadCount = 3;
const char* name(Offload what);
/// Of names joined by commas, or "none".
std::optional<std::uint8_t> offload_named(std::string_view text);
std::string offload_names(std::uint8_t what);

enum class Schedule : std::int8_t { kGpipe, k1F1B, kInterleaved, kZbH1, kZbV, kDualPipe };
inline constexpr std::array kSchedules{Schedule::kGpipe, Schedule::k1F1B, Schedule::kInterleaved,
                                       Schedule::kZbH1,  Schedule::kZbV,  Schedule::kDualPipe};
/// As --recompute takes it: "none", "selective", "full", "full:4", "uniform:2", "layernorm,moe_act".
std::string name(const Recompute& recompute);
const char* name(Schedule schedule);
/// Of any spelling that means one; nothing where it means none. "-" and "_" are alike.
std::optional<Recompute> recompute_named(std::string_view text);
std::optional<Module> module_named(std::string_view text);
std::optional<Schedule> schedule_named(std::string_view text);

/// The axes that number the ranks.
enum class RankAxis : std::int8_t { kTp, kCp, kDp, kPp };
inline constexpr std::size_t kRankAxes = 4, kRankOrders = 24;

/// The order in which ranks are numbered, the innermost axis first: the groups of the first axes are on
/// neighbouring GPUs, those of the last ones reach over the outer tiers. Usual is tp-cp-dp-pp.
struct RankOrder {
  using Axes = std::array<RankAxis, kRankAxes>;
  /// All of them; the usual one is the first.
  static constexpr std::array<Axes, kRankOrders> all() {
    Axes axes{RankAxis::kTp, RankAxis::kCp, RankAxis::kDp, RankAxis::kPp};
    std::array<Axes, kRankOrders> orders{};
    for (Axes& order : orders) {
      order = axes;
      std::next_permutation(axes.begin(), axes.end());
    }
    return orders;
  }
  std::int8_t index = 0;  // of all()
  auto operator<=>(const RankOrder&) const = default;
  const Axes& axes() const;
  bool usual() const { return index == 0; }
};
/// "tp-cp-pp-dp"
std::string name(RankOrder order);
/// Nothing where a text is no order of all four. An "ep" among them, as Megatron writes it, is passed over:
/// experts take consecutive ranks, whatever the order.
std::optional<RankOrder> rank_order_named(std::string_view text);

struct Plan {
  std::int32_t dp = 1;   // data-parallel replicas (context parallelism not included)
  std::int32_t tp = 1;   // tensor
  std::int32_t pp = 1;   // pipeline stages
  std::int32_t cp = 1;   // context
  std::int32_t ep = 1;   // expert; divides dp * cp * tp / etp
  std::int32_t etp = 1;  // tensor parallelism inside an expert
  std::int8_t zero_stage = 0;
  std::int32_t micro_batch = 1;        // sequences
  std::int32_t grad_accumulation = 1;  // micro-batches a replica runs in a step
  std::int32_t interleave = 1;         // model chunks a pipeline rank holds
  Schedule schedule = Schedule::k1F1B;
  Recompute recompute;
  bool sequence_parallel = false;
  /// Layers of the first and of the last chunk where they are told apart; the others share what remains.
  static constexpr std::int16_t kEven = -1;
  std::int16_t first_layers = kEven, last_layers = kEven;
  /// Micro-batches that run through a chunk before the rank turns to its next one; 0 = as many as stages.
  std::int32_t micro_batch_group = 0;
  std::uint8_t offload = 0;
  /// Ranks that ZeRO shards over, replicated by the others (hybrid sharding); 0 = all replicas.
  std::int32_t shard_group = 0;
  RankOrder rank_order;

  auto operator<=>(const Plan&) const = default;
  std::int64_t gpus() const { return std::int64_t{dp} * tp * pp * cp; }
  /// Ranks that hold the same dense weights.
  std::int64_t replicas() const { return std::int64_t{dp} * cp; }
  /// Of a step.
  std::int64_t sequences() const { return std::int64_t{dp} * micro_batch * grad_accumulation; }
  bool offloads(Offload what) const { return (offload & static_cast<std::uint8_t>(what)) != 0; }
};

inline std::int32_t degree_of(const Plan& plan, RankAxis axis) {
  constexpr std::array<std::int32_t Plan::*, kRankAxes> kMembers{&Plan::tp, &Plan::cp, &Plan::dp, &Plan::pp};
  return plan.*kMembers[static_cast<std::size_t>(axis)];
}
/// A plan with another's ZeRO stage, shard group and offload.
inline Plan with_state(Plan plan, const Plan& state) {
  plan.zero_stage = state.zero_stage;
  plan.shard_group = state.shard_group;
  plan.offload = state.offload;
  return plan;
}
inline bool same_state(const Plan& a, const Plan& b) {
  return a.zero_stage == b.zero_stage && a.shard_group == b.shard_group && a.offload == b.offload;
}
/// The plans differ in the order of their ranks at most.
inline bool same_but_order(Plan a, const Plan& b) {
  a.rank_order = b.rank_order;
  return a == b;
}
/// The degrees of all axes.
inline auto all_degrees(const Plan& p) { return std::array{p.dp, p.tp, p.pp, p.cp, p.ep, p.etp}; }
inline Plan with_degrees(Plan plan, const Plan& of) {
  plan.dp = of.dp;
  plan.tp = of.tp;
  plan.pp = of.pp;
  plan.cp = of.cp;
  plan.ep = of.ep;
  plan.etp = of.etp;
  return plan;
}
inline bool same_degrees(const Plan& a, const Plan& b) { return all_degrees(a) == all_degrees(b); }

/// What can be bounded instead of told.
enum class Degree {
  kDp,
  kTp,
  kPp,
  kCp,
  kEp,
  kEtp,
  kMicroBatch,
  kInterleave,
  kZero,
  kShardGroup,
  kFirstLayers,
  kLastLayers
};
inline constexpr std::size_t kDegreeCount = 12;
/// As its flag: "tp", "micro-batch".
const char* name(Degree degree);
/// The least value that it has: ZeRO has a stage 0.
inline constexpr std::int32_t lowest(Degree degree) { return degree == Degree::kZero ? 0 : 1; }
/// Of kShardGroup the ranks that ZeRO shards over: all replicas where no group is told, 1 at stage 0. Of
/// kFirstLayers and kLastLayers what the plan tells, Plan::kEven where it tells nothing.
std::int32_t degree_of(const Plan& plan, Degree degree);
void set_degree(Plan& plan, Degree degree, std::int32_t value);

struct DegreeBounds {
  std::int32_t least = 0, most = std::numeric_limits<std::int32_t>::max();
  bool hold(std::int32_t value) const { return value >= least && value <= most; }
  bool operator==(const DegreeBounds&) const = default;
};
/// "at least 2", "from 2 to 8", "1"
std::string words(Degree degree, const DegreeBounds& bounds);

/// What a person told of a plan. Search fills in the rest; memory takes its documented defaults for it.
struct FixedAxes {
  std::optional<std::int32_t> dp, tp, pp, cp, ep, etp, micro_batch, interleave;
  std::optional<std::int8_t> zero_stage;
  std::optional<Schedule> schedule;
  std::optional<Recompute> recompute;
  std::optional<bool> sequence_parallel;
  std::optional<std::uint8_t> offload;
  std::optional<std::int32_t> shard_group;
  std::optional<RankOrder> rank_order;
  std::optional<std::int32_t> first_layers, last_layers;  // of a chunk; 0: as many as the others
  std::array<DegreeBounds, kDegreeCount> bounds{};
  bool operator==(const FixedAxes&) const = default;
  DegreeBounds& bounds_of(Degree degree) { return bounds[static_cast<std::size_t>(degree)]; }
  const DegreeBounds& bounds_of(Degree degree) const { return bounds[static_cast<std::size_t>(degree)]; }
  std::optional<std::int32_t> told(Degree degree) const;
  void tell(Degree degree, std::int32_t value);
  bool bounds_ends() const;
  /// Something of the first or the last chunk is told or bounded.
  bool tells_ends() const { return first_layers || last_layers || bounds_ends(); }
};

/// The fewest micro-batches with which a schedule runs as drawn. DualPipe fills from both ends.
inline std::int32_t filling_micro_batches(const Plan& plan) {
  return plan.schedule == Schedule::kDualPipe ? 2 * plan.pp : plan.pp;
}

/// "dp2·tp8·pp4·z1·mb1·ga8·selective"; axes of degree 1 are left out, dp is always there.
std::string canonical(const Plan& plan);

}  // namespace shardplan
