#include "reason/term_facts.h"

#include <optional>

#include "estimate/tier_bandwidth.h"
#include "reason/time_groups.h"
#include "units/format.h"

namespace shardplan {
namespace {

std::string count(std::int64_t n) { return format_count(static_cast<double>(n)); }

std::optional<Axis> axis_of(TimeTerm term) {
  for (std::size_t i = 0; i < kAxisCount; ++i) {
    const auto axis = static_cast<Axis>(i);
    if (time_term(axis) == term) return axis;
  }
  return std::nullopt;
}

std::int64_t ranks_of(const Plan& p, Axis axis) {
  switch (axis) {
    case Axis::kTensor:
      return p.tp;
    case Axis::kContext:
      return p.cp;
    case Axis::kExpert:
      return p.ep;
    case Axis::kData:
      return p.replicas();
    case Axis::kPipeline:
      break;
  }
  return p.pp;
}

std::string traffic_facts(const Cluster& cluster, const Estimate& e, Axis axis) {
  const AxisCost<>& cost = e.time.axis(axis);
  if (cost.occurrences <= 0) return "";
  const Tier& tier = cluster.tiers[cost.group.paced_by];
  std::string text = (cost.occurrences == 1 ? "once " : format_count(cost.occurrences) + " times ") +
                     format(bytes(cost.bytes)) + " over " + count(ranks_of(e.plan, axis)) +
                     (axis == Axis::kPipeline ? " stages, " : " ranks, ") + format(cost.once()) + " each (" +
                     format(cost.group.cost.latency_term) + " of it latency); tier " + tier.name + " has " +
                     format(tier_bandwidth(cluster, cost.group.paced_by));
  if (cost.window > seconds(0)) text += "; it may run beside " + format(cost.window) + " of compute";
  return text;
}

/// Tokens of one micro-batch that a rank's products have as rows.
std::int64_t rows(const Question& q, const Plan& p) { return p.micro_batch * q.workload.sequence / p.cp; }

std::string passes(const Question& q, const Plan& p) {
  return counted(p.grad_accumulation, "micro-batch", "es") + " of " + counted(rows(q, p), "token") +
         " a rank";
}

std::string layers_words(const Question& q, const Plan& p) {
  return counted(q.model.layers.size(), "layer") + " over " + counted(p.pp, "stage");
}

/// Of what a rank runs in its products, attention and head, the share of the peak that it reaches while it
/// does.
std::string reached(const Question& q, const Estimate& e) {
  const Ratio<> share = e.hfu * (e.step / compute_time(e.time));
  const auto& peak = q.cluster.device.peak[static_cast<std::size_t>(q.workload.precision())];
  return "products, attention and head together reach " + format(share * peak->value) + ", " +
         format_percent(share.raw()) + " of the peak";
}

std::string tensor_words(const Plan& p) {
  return p.tp == 1 ? "whole widths" : "widths over tp " + count(p.tp);
}

std::string bubble_facts(const Plan& p) {
  const std::int64_t chunks = p.schedule == Schedule::kZbV ? 2 : p.interleave;
  if (p.pp == 1) return "one stage";
  return std::string(name(p.schedule)) + " runs " + counted(p.grad_accumulation, "micro-batch", "es") +
         " over " + counted(p.pp, "stage") + (chunks > 1 ? " of " + counted(chunks, "chunk") : "");
}

std::string recompute_facts(const Question& q, const Plan& p) {
  if (p.recompute == Recompute::kNone) return "";
  return "recompute " + name(p.recompute) + " in " + passes(q, p);
}

}  // namespace

std::string term_facts(const Estimator& estimator, const Estimate& e, TimeTerm term) {
  const Question& q = estimator.question();
  const Plan& p = e.plan;
  if (e.time[term].time <= seconds(0) && term != TimeTerm::kBubble) return "";
  if (const auto axis = axis_of(term)) return traffic_facts(q.cluster, e, *axis);
  switch (term) {
    case TimeTerm::kGemm:
      return passes(q, p) + ", " + layers_words(q, p) + ", " + tensor_words(p) + "; " + reached(q, e);
    case TimeTerm::kAttention:
      return passes(q, p) + ", heads over tp " + count(p.tp);
    case TimeTerm::kMemoryBound:
      return passes(q, p) + (p.sequence_parallel ? ", between products a share of them over tp " + count(p.tp)
                                                 : ", between products whole");
    case TimeTerm::kLogits:
      return passes(q, p) + ", vocabulary over tp " + count(p.tp);
    case TimeTerm::kLaunch:
      return passes(q, p) + ", " + layers_words(q, p);
    case TimeTerm::kRecompute:
      return recompute_facts(q, p);
    case TimeTerm::kBubble:
      return bubble_facts(p);
    case TimeTerm::kImbalance:
      return layers_words(q, p) + ", embeddings and head on the first and the last";
    case TimeTerm::kOptimizer:
      return "ZeRO " + count(p.zero_stage) + ", each rank's weights over " + counted(p.replicas(), "replica");
    case TimeTerm::kStragglers:
      return "the slowest of " + counted(p.gpus(), "rank");
    case TimeTerm::kOffload:
      return "offload " + offload_names(p.offload);
    default:
      return "";
  }
}

}  // namespace shardplan
