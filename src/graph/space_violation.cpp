// The rules of the space in words: what a plan breaks, with both numbers.
#include "graph/placement.h"
#include "graph/space.h"
#include "graph/stages.h"
#include "units/format.h"

namespace shardplan {
namespace {

bool divides(std::int64_t degree, std::int64_t what) { return what % degree == 0; }

std::string says(const char* axis, std::int64_t degree, std::int64_t what, const char* of) {
  return std::string(axis) + " " + std::to_string(degree) + " does not divide " + std::to_string(what) + " " +
         of;
}

std::string there_are(std::int64_t gpus) {
  return gpus == 1 ? "there is 1 GPU" : "there are " + std::to_string(gpus) + " GPUs";
}

/// "; the first one is told to hold 3, the last one 4"
std::string told_ends(const Plan& p) {
  std::string text;
  if (p.first_layers != Plan::kEven)
    text += "; the first one is told to hold " + std::to_string(p.first_layers);
  if (p.last_layers != Plan::kEven)
    text += (text.empty() ? "; the last one is told to hold " : ", the last one ") +
            std::to_string(p.last_layers);
  return text;
}

std::string layer_rule(const Plan& p, std::int64_t layers) {
  const std::string over = " over " + std::to_string(layers) + " layers: ";
  if (p.pp == 1 && chunks_told_apart(p) > 0)
    return "one chunk" + over + "what its ends hold apart from the others needs a pipeline, pp > 1" +
           told_ends(p);
  return "pp " + std::to_string(p.pp) + " x " +
         (p.schedule == Schedule::kZbV ? "2 (zb-v)" : "interleave " + std::to_string(p.interleave)) +
         " chunks" + over + "at least one layer a chunk, and equal chunks when a rank has several" +
         told_ends(p);
}

std::string expert_rule(const Plan& p, std::int64_t experts) {
  const std::string ep = "ep " + std::to_string(p.ep), etp = "etp " + std::to_string(p.etp);
  if (experts == 0) return (p.ep > 1 ? ep : etp) + " for a model without experts";
  return ep + " (" + etp + ", 1 or tp) must divide " + std::to_string(experts) +
         " experts and, times etp, the " + std::to_string(std::int64_t{p.dp} * p.cp * p.tp) +
         " ranks of dp x cp x tp";
}

std::string batch_rule(const Plan& p, std::int64_t batch) {
  const std::string each = "dp " + std::to_string(p.dp) + " x micro-batch " + std::to_string(p.micro_batch);
  const std::string whole = "the global batch of " + counted(batch, "sequence");
  if (!divides(std::int64_t{p.dp} * p.micro_batch, batch)) return each + " does not divide " + whole;
  return each + " x " + counted(p.grad_accumulation, "micro-batch", "es") + " is not " + whole;
}

std::string schedule_rule(const Plan& p) {
  if (p.interleave > 1 || p.schedule == Schedule::kInterleaved) {
    return "interleaving needs pp > 1, the interleaved schedule and a multiple of pp micro-batches";
  }
  if (p.pp > 1 && p.schedule == Schedule::kDualPipe) {
    return "dualpipe fills from both ends: it needs an even pp and an even number of micro-batches, at least 2 x pp";
  }
  return "a schedule other than 1f1b needs pp > 1";
}

std::string order_rule(const Cluster& cluster, const Plan& p, bool same_replicas) {
  const std::string order = "rank order " + name(p.rank_order);
  if (cluster.torus) return order + " is not modelled on a torus, tp-cp-dp-pp alone";
  if (!same_replicas) {
    return order +
           " has pp inside: experts must have as many replicas as all else, so that ep x etp is tp x cp " +
           std::to_string(std::int64_t{p.tp} * p.cp) + " (cp 1 without experts)";
  }
  if (p.etp > 1 && stride_of(p, RankAxis::kTp) > 1) return order + ": etp is for orders that begin with tp";
  return order + " leaves " + std::to_string(stage_ranks(p).in_row()) + " ranks inside pp, which the " +
         std::to_string(std::int64_t{p.ep} * p.etp) + " of ep x etp must divide";
}

std::string zero_rule(const Framework& framework, const Plan& p) {
  const std::string stage = "ZeRO " + std::to_string(p.zero_stage);
  const std::int64_t replicas = p.replicas();
  if (p.zero_stage > 0 && replicas == 1) return stage + " with one replica has nothing to shard over";
  if (!framework.zero[static_cast<std::size_t>(p.zero_stage)].allowed)
    return framework.name + " has no ZeRO stage " + std::to_string(p.zero_stage);
  if (p.shard_group > 0 && p.zero_stage == 0) return "a shard group needs ZeRO 1 or more";
  if (p.shard_group > 0 && replicas % p.shard_group != 0)
    return says("shard group", p.shard_group, replicas, "replicas (dp x cp)");
  if (!framework.offload) return framework.name + " offloads no optimizer and no parameters";
  if (p.offloads(Offload::kParameters) && !framework.offload->parameters)
    return framework.name + " offloads no parameters";
  if (p.offloads(Offload::kParameters) != p.offloads(Offload::kOptimizer))
    return framework.name + " offloads parameters and optimizer together";
  if (p.offloads(Offload::kParameters)) return "parameters are offloaded shard by shard: that needs ZeRO 3";
  return "the experts of a shard group do not divide their replicas";
}

}  // namespace

const char* name(Constraint constraint) {
  static constexpr std::array<const char*, kConstraintCount> kNames{
      "gpu_count", "heads",      "widths", "layers",      "sequence", "experts",    "batch",      "schedule",
      "zero",      "rank_order", "state",  "activations", "logits",   "transients", "host_memory"};
  return kNames[static_cast<std::size_t>(constraint)];
}

std::optional<Violation> Space::violation(const Plan& p) const {
  const auto broken = first_broken(p);
  return broken ? std::optional(violation(p, *broken)) : std::nullopt;
}

Violation Space::violation(const Plan& p, Constraint broken) const {
  const auto num = [](std::int64_t v) { return std::to_string(v); };
  Violation v{broken, 0, 0, {}};
  const auto set = [&](std::int64_t required, std::int64_t available, std::string where) {
    v.required = static_cast<double>(required);
    v.available = static_cast<double>(available);
    v.where = std::move(where);
  };
  const std::int64_t batch = question_.workload.global_batch, sequence = question_.workload.sequence;
  switch (broken) {
    case Constraint::kGpuCount:
      set(p.gpus(), question_.cluster.gpus,
          "dp " + num(p.dp) + " x tp " + num(p.tp) + " x pp " + num(p.pp) + " x cp " + num(p.cp) + " = " +
              num(p.gpus()) + ", and " + there_are(question_.cluster.gpus));
      break;
    case Constraint::kHeads:
      set(p.tp, heads_,
          divides(p.tp, heads_)
              ? "tp " + num(p.tp) + " neither divides nor is a multiple of the key-value heads"
              : says("tp", p.tp, heads_, "attention heads"));
      break;
    case Constraint::kWidths:
      if (!divides(p.tp, widths_)) {
        set(p.tp, widths_, says("tp", p.tp, widths_, "(MLP width)"));
      } else {
        set(p.etp, expert_widths_, says("etp", p.etp, expert_widths_, "(expert width)"));
      }
      break;
    case Constraint::kLayers:
      set(all_chunks(p), layers_, layer_rule(p, layers_));
      break;
    case Constraint::kSequence:
      set(std::int64_t{p.cp} * p.tp, sequence,
          p.tp == 1 && p.sequence_parallel ? "sequence parallelism needs tp > 1"
          : p.cp == 1 ? "tp " + num(p.tp) + " must divide the sequence of " + counted(sequence, "token")
                      : "cp " + num(p.cp) + " (two slices each) and tp " + num(p.tp) +
                            " must divide the sequence of " + counted(sequence, "token"));
      break;
    case Constraint::kExperts:
      set(p.ep, experts_, expert_rule(p, experts_));
      break;
    case Constraint::kBatch:
      set(p.sequences(), batch, batch_rule(p, batch));
      break;
    case Constraint::kSchedule:
      set(p.interleave, p.pp,
          std::string("schedule ") + name(p.schedule) + " with interleave " + num(p.interleave) + ", pp " +
              num(p.pp) + " and " + counted(p.grad_accumulation, "micro-batch", "es") + ": " +
              schedule_rule(p));
      break;
    case Constraint::kZero:
      set(p.zero_stage, 0, zero_rule(question_.framework, p));
      break;
    case Constraint::kRankOrder:
      set(std::int64_t{p.ep} * p.etp, stage_ranks(p).in_row(),
          order_rule(question_.cluster, p,
                     !question_.framework.engine.rank_orders_same_replicas || same_replicas(p)));
      break;
    default:
      break;
  }
  return v;
}

}  // namespace shardplan
