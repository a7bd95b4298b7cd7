// Failures of memory, on the device and on the host.
#include <array>

#include "reason/failure_kinds.h"

namespace shardplan {
namespace {

using Case = FailureCase;

Bytes<> reserved_for_fragmentation(const Case& c) { return c.cluster().reserve_share.value * c.best.hbm; }

bool thin_headroom(const Case& c) { return c.best.headroom() < c.best.hbm * c.risk().fragmentation.value; }
Sentence thin_headroom_said(const Case& c) {
  Sentence s;
  s << stated("headroom", c.best.headroom()) << " of " << stated("usable", c.best.usable)
    << " usable are free; fragmentation of " << stated_risk(c.risk(), &RiskFigures::fragmentation)
    << ", the high end of measured runs, would take "
    << stated("fragmentation", c.best.memory.total() * c.risk().fragmentation.value) << ", the reserve holds "
    << stated("reserved_for_fragmentation", reserved_for_fragmentation(c)) << " for it";
  return s;
}
Arrival thin_headroom_arrives(const Case& c) {
  Sentence then;
  then << "headroom and reserve are gone";
  return {"above", stated("level", c.best.headroom() + reserved_for_fragmentation(c)), then};
}

bool recompute_transient(const Case& c) { return c.plan().recompute != Recompute::kNone; }
Sentence recompute_transient_said(const Case& c) {
  Plan whole = c.plan();
  whole.recompute = Recompute::kNone;
  const auto layer = [&](const char* name, ActivationModel model) {
    return stated(name, c.estimator.layer_activations<double>(whole, 0, model));
  };
  Sentence s;
  s << "a layer that is recomputed is there whole for a moment: "
    << layer("layer_fused", ActivationModel::kOps) << " with fused attention, "
    << layer("layer_scores", ActivationModel::kPaper) << " if its scores are materialised; "
    << stated("headroom", c.best.headroom()) << " are free";
  return s;
}
Arrival recompute_transient_arrives(const Case& c) {
  const MemoryPeaks<> peaks = c.estimator.memory_peaks<double>(c.plan(), c.best.fullest_stage, c.best.memory);
  Sentence then;
  then << "the headroom is gone; " << stated("allocated_peak", peaks.allocated) << " are expected";
  return {"above", stated("level", peaks.allocated + c.best.headroom()), then};
}

// Logits ----------------------------------------------------------------------------------------------------

struct LogitStage {
  int stage = 0;
  MemoryBreakdown<> memory;
  Bytes<> copy;  // of all logits of a micro-batch, in fp32
  Bytes<> free(const Case& c) const { return c.best.usable - memory.total(); }
};
/// The stage that holds them; nothing where no vocabulary is known.
std::optional<LogitStage> logit_stage(const Case& c) {
  for (int stage = 0; stage < c.plan().pp; ++stage) {
    const LogitStage found{stage, c.estimator.stage_memory<double>(c.plan(), stage), bytes(0)};
    if (!(found.memory[MemoryTerm::kLogits] > bytes(0))) continue;
    for (const Tensor& t : c.estimator.tensors(c.plan(), stage))
      if (t.name == "logits in fp32") return LogitStage{stage, found.memory, t.bytes};
  }
  return std::nullopt;
}
bool logits_spike(const Case& c) {
  const auto at = logit_stage(c);
  return at && at->copy > at->free(c);
}
Sentence logits_spike_said(const Case& c) {
  const LogitStage at = *logit_stage(c);
  const Question& q = c.question();
  Sentence s("the logits of ");
  s << stated_counted("tokens", c.plan().micro_batch * q.workload.sequence / c.plan().cp, "token")
    << " over a vocabulary of " << stated_count("vocabulary", q.model.vocab) << " are "
    << stated("copy", at.copy) << " in fp32 on each rank of stage "
    << stated_count("stage", std::int64_t{at.stage}) << "; "
    << stated("logits", at.memory[MemoryTerm::kLogits]) << " are counted for them and their loss, and "
    << stated("free", at.free(c)) << " are left: a loss that keeps one more copy does not fit";
  return s;
}
Arrival logits_spike_arrives(const Case& c) {
  const LogitStage at = *logit_stage(c);
  const MemoryPeaks<> peaks = c.estimator.memory_peaks<double>(c.plan(), at.stage, at.memory);
  Sentence then("what was left is gone; ");
  then << stated("allocated_peak", peaks.allocated) << " are expected";
  return {"above", stated("level", peaks.allocated + at.free(c)), then};
}

bool host_offload(const Case& c) { return c.plan().offload != 0; }
Sentence host_offload_said(const Case& c) {
  Sentence s;
  s << "a node's host keeps " << stated("host_need", c.estimator.host_need(c.plan()));
  if (const auto& memory = c.cluster().host_memory) s << " of " << stated("host_memory", memory->value);
  const Seconds<> way = c.spent(TimeTerm::kOffload);
  s << "; the way there and back and the optimizer step there add " << stated("offload", way) << ", "
    << stated_share("offload_share", (way / c.best.step).raw()) << " of the step";
  return s;
}
Arrival host_offload_arrives(const Case& c) {
  return {"above", stated("level", c.spent(TimeTerm::kOffload) + felt(c)), felt_said(c)};
}

constexpr std::array kKinds{
    FailureKind{"thin_headroom", thin_headroom, thin_headroom_said, thin_headroom_arrives,
                "out of memory after hours, with allocated memory well below the limit",
                "reserved minus allocated bytes, beside allocator retries"},
    FailureKind{"recompute_transient", recompute_transient, recompute_transient_said,
                recompute_transient_arrives,
                "out of memory in the first backward pass, not in the forward pass",
                "peak allocated bytes at the start of backward"},
    FailureKind{"logits_spike", logits_spike, logits_spike_said, logits_spike_arrives,
                "out of memory in the loss, on the last pipeline stage alone, at the end of the first "
                "forward pass",
                "peak allocated bytes of that stage while the loss is computed"},
    FailureKind{"host_offload", host_offload, host_offload_said, host_offload_arrives,
                "GPUs idle between the backward pass and the next step; a host that is full ends ranks",
                "idle time of the GPUs at the optimizer step, beside the host's free memory"},
};

}  // namespace

std::span<const FailureKind> memory_failures() { return kKinds; }

}  // namespace shardplan
