// Failures that make the step longer than it was estimated.
#include <array>

#include "estimate/axis_bandwidth.h"
#include "estimate/context_balance.h"
#include "reason/bisect.h"
#include "reason/failure_kinds.h"
#include "reason/time_groups.h"

namespace shardplan {
namespace {

using Case = FailureCase;

void say_of_step(Sentence& s, const Case& c, const char* name, const char* share_name, Seconds<> part) {
  s << stated(name, part) << ", " << stated_share(share_name, (part / c.best.step).raw()) << " of the step";
}

Stated times(const char* what, double factor) {
  Stated level = stated_number("level", factor);
  level.text += std::string(" times ") + what;
  return level;
}

/// Bandwidth of a tier at which an axis' exposed time has grown by what is felt, found by estimating the plan
/// again.
Stated felt_bandwidth(const Case& c, Axis axis, std::size_t tier) {
  const double now = c.cluster().tiers[tier].bandwidth.value.raw();
  const Seconds<> limit = c.spent(time_term(axis)) + felt(c);
  Question q = c.question();
  const auto grown = [&](double bandwidth) {
    q.cluster.tiers[tier].bandwidth.value = bytes_per_s(bandwidth);
    return Estimator(q).time<double>(c.plan())[time_term(axis)].exposed() >= limit;
  };
  // Slower by more than this is no longer a link.
  constexpr double kSlowest = 1e-6;
  const double at = bisect(now, kSlowest * now, grown).value_or(kSlowest * now);
  // What is shared at the tier's edge is what is measured.
  Stated level = stated("level", bytes_per_s(at) / c.cluster().tiers[tier].oversubscription.value);
  level.text += " over " + c.cluster().tiers[tier].name;
  return level;
}

// Gradient reduction ----------------------------------------------------------------------------------------

// The network may slow to this multiple of what the reduction needs before it counts as a risk.
constexpr double kNearlyExposed = 3;
std::optional<BytesPerSecond<>> reduction_needs(const Case& c) {
  const AxisCost<>& cost = c.best.time.axis(Axis::kData);
  if (cost.occurrences <= 0) return std::nullopt;
  return axis_bandwidth(c.cluster(), cost, cost.window).required;
}
BytesPerSecond<> reduction_has(const Case& c) {
  return tier_bandwidth(c.cluster(), c.best.time.axis(Axis::kData).group.paced_by);
}
bool reduction_near_window(const Case& c) {
  const auto needs = reduction_needs(c);
  return needs && *needs * ratio(kNearlyExposed) > reduction_has(c);
}
Sentence reduction_said(const Case& c) {
  const BytesPerSecond<> has = reduction_has(c), needs = *reduction_needs(c);
  const bool gathers = c.question().framework.zero[static_cast<std::size_t>(c.plan().zero_stage)].weights;
  Sentence s;
  s << (gathers ? "the gradient reduction, gathers of the weights included, needs "
                : "the gradient reduction needs ")
    << stated("needs", rounded_up(needs)) << " of the " << stated("has", has) << " of tier "
    << c.cluster().tiers[c.best.time.axis(Axis::kData).group.paced_by].name << " to hide: "
    << (needs <= has ? "a network that falls below it shows up in every step"
                     : "it is exposed already, and grows with every loss of bandwidth");
  return s;
}
Arrival reduction_arrives(const Case& c) {
  const BytesPerSecond<> needs = *reduction_needs(c);
  if (needs > reduction_has(c)) {
    return {"below", felt_bandwidth(c, Axis::kData, c.best.time.axis(Axis::kData).group.paced_by),
            felt_said()};
  }
  Sentence then;
  then << "it is exposed";
  return {"below", stated("level", rounded_up(needs)), then};
}

// Tensor parallelism ----------------------------------------------------------------------------------------

bool cross_node_tensor(const Case& c) {
  return c.plan().tp > 1 && c.best.time.axis(Axis::kTensor).group.tier > 0;
}
Sentence cross_node_tensor_said(const Case& c) {
  const std::size_t tier = c.best.time.axis(Axis::kTensor).group.tier;
  Sentence s;
  s << "tensor parallelism of " << stated_count("tp", c.plan().tp) << " leaves the "
    << c.cluster().tiers.front().name << ": its all-reduces run over " << c.cluster().tiers[tier].name
    << " at " << stated("has", tier_bandwidth(c.cluster(), tier)) << " and take ";
  say_of_step(s, c, "exposed", "exposed_share", c.spent(TimeTerm::kTensor));
  return s;
}
Arrival cross_node_tensor_arrives(const Case& c) {
  const std::size_t tier = c.best.time.axis(Axis::kTensor).group.tier;
  return {"below", felt_bandwidth(c, Axis::kTensor, tier), felt_said()};
}

// Pipeline --------------------------------------------------------------------------------------------------

constexpr double kBubbleShare = 0.05;
bool bubble(const Case& c) {
  return c.plan().pp > 1 && c.spent(TimeTerm::kBubble) > c.best.step * ratio(kBubbleShare);
}
Sentence bubble_said(const Case& c) {
  Sentence s;
  s << stated_count("micro_batches", c.plan().grad_accumulation) << " micro-batches over "
    << stated_count("stages", c.plan().pp) << " stages leave a bubble of ";
  say_of_step(s, c, "bubble", "bubble_share", c.spent(TimeTerm::kBubble));
  s << "; half the batch would double that share";
  return s;
}
Arrival bubble_arrives(const Case& c) {
  const Seconds<> longer = felt(c);
  const Ratio<> idle = (c.spent(TimeTerm::kBubble) + longer) / (c.best.step + longer);
  Sentence then;
  then << "the same work takes " << stated_share("longer", kFelt) << " longer";
  Stated at = stated_share("level", idle.raw());
  at.text += " of the step";
  return {"above", at, then};
}

// Stragglers ------------------------------------------------------------------------------------------------

// From this many replicas on the slowest of them is met in most steps.
constexpr std::int32_t kManyReplicas = 32;
constexpr double kSlowShare = 0.05;
bool stragglers(const Case& c) { return c.plan().dp >= kManyReplicas; }
Sentence stragglers_said(const Case& c) {
  Sentence s;
  s << "each step ends with the slowest of " << stated_count("replicas", c.plan().dp)
    << " replicas: one GPU that is " << stated_share("slow", kSlowShare) << " slow costs all of them "
    << stated("wait", compute_time(c.best.time) * ratio(kSlowShare)) << " a step";
  return s;
}
Arrival stragglers_arrive(const Case& c) {
  const double slowest = 1 + (felt(c) / compute_time(c.best.time)).raw();
  return {"above", times("the median", slowest), felt_said()};
}

// Experts ---------------------------------------------------------------------------------------------------

struct Loaded {
  bool fits;
  Seconds<> step;
};
Loaded with_load(const Case& c, double load) {
  Question q = c.question();
  q.workload.expert_load = load;
  const Estimator estimator(q);
  int stage = 0;
  const MemoryBreakdown<> memory = estimator.fullest_memory<double>(c.plan(), stage);
  return {memory.total() <= c.best.usable, estimator.time<double>(c.plan()).total()};
}

bool expert_imbalance(const Case& c) { return c.plan().ep > 1; }
Sentence expert_imbalance_said(const Case& c) {
  const double told = c.question().workload.expert_load;
  Sentence s;
  if (told == 1) {
    s << "balanced routing is assumed over " << stated_count("expert_ranks", c.plan().ep)
      << " expert ranks; the fullest ";
  } else {
    s << "the fullest of " << stated_count("expert_ranks", c.plan().ep) << " expert ranks is taken to have "
      << stated_number("load", told) << " times the mean; it ";
  }
  s << "sets both the pace of the all-to-all (";
  say_of_step(s, c, "exchange", "exchange_share", c.spent(TimeTerm::kExpert));
  s << ") and the memory";
  return s;
}
Arrival expert_imbalance_arrives(const Case& c) {
  const double now = c.question().workload.expert_load;
  // One rank cannot have more than all of the tokens.
  const double most = now + c.plan().ep;
  const Seconds<> limit = c.best.step + felt(c);
  const auto at = bisect(now, most, [&](double load) {
    const Loaded with = with_load(c, load);
    return !with.fits || with.step >= limit;
  });
  const Loaded there = with_load(c, at.value_or(most));
  Sentence then;
  if (!there.fits) {
    then << "the fullest rank is out of memory, at a step of " << stated("step", there.step);
  } else {
    then << "the step is " << stated_share("longer", (there.step / c.best.step).raw() - 1) << " longer";
  }
  return {"above", times("the mean", at.value_or(most)), then};
}

// Context parallelism ---------------------------------------------------------------------------------------

// Less than this of the step is not worth a line.
constexpr double kWorthSaying = 0.01;
Seconds<> ordered_chunks_wait(const Case& c) {
  return c.spent(TimeTerm::kAttention) * (ordered_chunks<double>(c.plan()) - ratio(1));
}
bool causal_ring(const Case& c) {
  return c.plan().cp > 1 && ordered_chunks_wait(c) > c.best.step * ratio(kWorthSaying);
}
Sentence causal_ring_said(const Case& c) {
  Sentence s;
  s << "causal attention is taken as even over " << stated_count("context_ranks", c.plan().cp)
    << " context ranks, as with chunks dealt from both ends of the sequence; in their order the last rank "
       "has "
    << stated_number("ordered", ordered_chunks<double>(c.plan()).raw()) << " times the mean and adds ";
  say_of_step(s, c, "wait", "wait_share", ordered_chunks_wait(c));
  return s;
}
Arrival causal_ring_arrives(const Case& c) {
  const double slowest = 1 + (felt(c) / c.spent(TimeTerm::kAttention)).raw();
  const double ordered = ordered_chunks<double>(c.plan()).raw();
  Sentence then;
  if (slowest <= ordered) {
    then = felt_said();
  } else {
    then << "chunks are in their order, and the step is "
         << stated_share("longer", (ordered_chunks_wait(c) / c.best.step).raw()) << " longer";
  }
  return {"above", times("the mean", std::min(slowest, ordered)), then};
}

constexpr std::array kKinds{
    FailureKind{"exposed_reduction", reduction_near_window, reduction_said, reduction_arrives,
                "step time grows with the number of nodes and varies with network load",
                "bus bandwidth of the reduction, beside the time from the end of backward to the optimizer"},
    FailureKind{"cross_node_tensor", cross_node_tensor, cross_node_tensor_said, cross_node_tensor_arrives,
                "GPUs idle between layers; the step follows every disturbance of the network",
                "bus bandwidth of the tensor-parallel all-reduces, beside their share of the step"},
    FailureKind{"bubble", bubble, bubble_said, bubble_arrives,
                "GPU utilisation falls in steps towards the pipeline's ends",
                "idle time of the first and last stage"},
    FailureKind{"stragglers", stragglers, stragglers_said, stragglers_arrive,
                "step time above the estimate while most GPUs wait at the reduction",
                "slowest over median time of a rank to reach the reduction"},
    FailureKind{"expert_imbalance", expert_imbalance, expert_imbalance_said, expert_imbalance_arrives,
                "out of memory or slow steps on a few ranks only, changing with the data",
                "tokens of the fullest expert rank over the mean"},
    FailureKind{"causal_ring", causal_ring, causal_ring_said, causal_ring_arrives,
                "the first context ranks wait for the last ones in every layer",
                "slowest over mean time of attention among the context ranks"},
};

}  // namespace

std::span<const FailureKind> time_failures() { return kKinds; }

}  // namespace shardplan
