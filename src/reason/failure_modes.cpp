#include "reason/failure_modes.h"

#include "estimate/axis_bandwidth.h"
#include "reason/time_groups.h"
#include "units/format.h"

namespace shardplan {
namespace {

struct Case {
  const Estimator& estimator;
  const Estimate& best;
  const Question& question() const { return estimator.question(); }
  const Cluster& cluster() const { return question().cluster; }
  const Plan& plan() const { return best.plan; }
  Seconds<> spent(TimeTerm term) const { return best.time[term].exposed(); }
};

std::string count(std::int64_t n) { return format_count(static_cast<double>(n)); }
std::string of_step(const Case& c, Seconds<> part) {
  return format(part) + ", " + format_percent((part / c.best.step).raw()) + " of the step";
}

// Fragmentation seen in ordinary runs reaches this share of what is reserved (unknowns.cpp, "fragmentation").
constexpr double kFragmentationHigh = 0.07;
bool thin_headroom(const Case& c) { return c.best.headroom() < c.best.hbm * ratio(kFragmentationHigh); }
std::string thin_headroom_text(const Case& c) {
  return format(c.best.headroom()) + " of " + format(c.best.usable) + " usable are free; fragmentation of " +
         format_percent(kFragmentationHigh) + ", the high end of ordinary runs, would take " +
         format(c.best.memory.total() * ratio(kFragmentationHigh)) + ", the reserve holds " +
         format(c.cluster().reserve_share.value * c.best.hbm) + " for it";
}

bool cross_node_tensor(const Case& c) {
  return c.plan().tp > 1 && c.best.time.axis(Axis::kTensor).group.tier > 0;
}
std::string cross_node_tensor_text(const Case& c) {
  const AxisCost<>& cost = c.best.time.axis(Axis::kTensor);
  return "tensor parallelism of " + count(c.plan().tp) + " leaves the " + c.cluster().tiers.front().name +
         ": its all-reduces run over " + c.cluster().tiers[cost.group.tier].name + " at " +
         format(tier_bandwidth(c.cluster(), cost.group.tier)) + " and take " +
         of_step(c, c.spent(TimeTerm::kTensor));
}

constexpr double kBubbleShare = 0.05;
bool bubble(const Case& c) {
  return c.plan().pp > 1 && c.spent(TimeTerm::kBubble) > c.best.step * ratio(kBubbleShare);
}
std::string bubble_text(const Case& c) {
  return count(c.plan().grad_accumulation) + " micro-batches over " + count(c.plan().pp) +
         " stages leave a bubble of " + of_step(c, c.spent(TimeTerm::kBubble)) +
         "; half the batch would double that share";
}

double batch_tokens(const Case& c) {
  return static_cast<double>(c.plan().sequences() * c.question().workload.sequence);
}
bool beyond_critical(const Case& c) {
  const double critical = c.question().workload.critical_batch_tokens;
  return critical > 0 && batch_tokens(c) > critical;
}
std::string beyond_critical_text(const Case& c) {
  return "a step of " + format_count(batch_tokens(c)) + " tokens is beyond the critical batch of " +
         format_count(c.question().workload.critical_batch_tokens) +
         ": more tokens a second, but not as much less loss";
}

// From this many replicas on the slowest of them is met in most steps.
constexpr std::int32_t kManyReplicas = 32;
constexpr double kSlowShare = 0.05;
bool stragglers(const Case& c) { return c.plan().dp >= kManyReplicas; }
std::string stragglers_text(const Case& c) {
  return "each step ends with the slowest of " + count(c.plan().dp) + " replicas: one GPU that is " +
         format_percent(kSlowShare) + " slow costs all of them " +
         format(compute_time(c.best.time) * ratio(kSlowShare)) + " a step";
}

bool expert_imbalance(const Case& c) { return c.plan().ep > 1; }
std::string expert_imbalance_text(const Case& c) {
  return "balanced routing is assumed over " + count(c.plan().ep) +
         " expert ranks; the fullest rank sets both the pace of the all-to-all (" +
         of_step(c, c.spent(TimeTerm::kExpert)) + ") and the memory";
}

// The network may slow to this multiple of what the reduction needs before it counts as a risk.
constexpr double kNearlyExposed = 3;
std::optional<BytesPerSecond<>> reduction_needs(const Case& c) {
  const AxisCost<>& cost = c.best.time.axis(Axis::kData);
  if (cost.occurrences <= 0) return std::nullopt;
  return axis_bandwidth(c.cluster(), cost, cost.window).required;
}
bool reduction_near_window(const Case& c) {
  const auto needs = reduction_needs(c);
  return needs && *needs * ratio(kNearlyExposed) >
                      tier_bandwidth(c.cluster(), c.best.time.axis(Axis::kData).group.paced_by);
}
std::string reduction_near_window_text(const Case& c) {
  const AxisCost<>& cost = c.best.time.axis(Axis::kData);
  const BytesPerSecond<> has = tier_bandwidth(c.cluster(), cost.group.paced_by), needs = *reduction_needs(c);
  return "the gradient reduction needs " + format(rounded_up(needs)) + " of the " + format(has) +
         " of tier " + c.cluster().tiers[cost.group.paced_by].name + " to hide: " +
         (needs <= has ? "a network that falls below it shows up in every step"
                       : "it is exposed already, and grows with every loss of bandwidth");
}

bool recompute_transient(const Case& c) { return c.plan().recompute != Recompute::kNone; }
std::string recompute_transient_text(const Case& c) {
  Plan whole = c.plan();
  whole.recompute = Recompute::kNone;
  const auto layer = [&](ActivationModel model) {
    return format(c.estimator.layer_activations<double>(whole, 0, model));
  };
  return "a layer that is recomputed is there whole for a moment: " + layer(ActivationModel::kOps) +
         " with fused attention, " + layer(ActivationModel::kPaper) + " if its scores are materialised; " +
         format(c.best.headroom()) + " are free";
}

struct Kind {
  const char* id;
  bool (*applies)(const Case&);
  std::string (*statement)(const Case&);
  const char* symptom;
  const char* metric;
};

constexpr std::array kKinds{
    Kind{"thin_headroom", thin_headroom, thin_headroom_text,
         "out of memory after hours, with allocated memory well below the limit",
         "reserved minus allocated bytes, allocator retries"},
    Kind{"exposed_reduction", reduction_near_window, reduction_near_window_text,
         "step time grows with the number of nodes and varies with network load",
         "time from the end of backward to the optimizer, bus bandwidth of the reduction"},
    Kind{"cross_node_tensor", cross_node_tensor, cross_node_tensor_text,
         "GPUs idle between layers; the step follows every disturbance of the network",
         "share of the step in all-reduces of the tensor-parallel group"},
    Kind{"bubble", bubble, bubble_text, "GPU utilisation falls in steps towards the pipeline's ends",
         "idle time of the first and last stage"},
    Kind{"beyond_critical_batch", beyond_critical, beyond_critical_text,
         "loss against tokens is worse than with the smaller batch, although tokens a second are better",
         "gradient noise scale; loss at equal tokens"},
    Kind{"stragglers", stragglers, stragglers_text,
         "step time above the estimate while most GPUs wait at the reduction",
         "spread over ranks of the time to reach the reduction"},
    Kind{"expert_imbalance", expert_imbalance, expert_imbalance_text,
         "out of memory or slow steps on a few ranks only, changing with the data",
         "tokens of the fullest expert over the mean"},
    Kind{"recompute_transient", recompute_transient, recompute_transient_text,
         "out of memory in the first backward pass, not in the forward pass",
         "peak allocated bytes at the start of backward"},
};

}  // namespace

std::vector<FailureMode> failure_modes(const Estimator& estimator, const Estimate& best) {
  const Case c{estimator, best};
  std::vector<FailureMode> found;
  for (const Kind& kind : kKinds) {
    if (kind.applies(c)) found.push_back({kind.id, kind.statement(c), kind.symptom, kind.metric});
  }
  return found;
}

}  // namespace shardplan
