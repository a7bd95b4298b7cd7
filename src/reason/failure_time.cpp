// Failures of the step beside its traffic: work that is uneven, and ranks that wait.
#include <array>

#include "estimate/context_balance.h"
#include "reason/bisect.h"
#include "reason/failure_kinds.h"
#include "reason/time_groups.h"

namespace shardplan {
namespace {

using Case = FailureCase;

Stated times(const char* what, double factor) {
  Stated level = stated_number("level", factor);
  level.text += std::string(" times ") + what;
  return level;
}

// Pipeline --------------------------------------------------------------------------------------------------

bool bubble(const Case& c) {
  return c.plan().pp > 1 && c.spent(TimeTerm::kBubble) > c.best.step * c.risk().bubble.value;
}
Sentence bubble_said(const Case& c) {
  Sentence s;
  s << stated_counted("micro_batches", c.plan().grad_accumulation, "micro-batch", "es") << " over "
    << stated_count("stages", c.plan().pp) << " stages leave a bubble of ";
  s << of_step(c, "bubble", c.spent(TimeTerm::kBubble)) << ", more than "
    << stated_risk(c.risk(), &RiskFigures::bubble) << "; half the batch would double that share";
  return s;
}
Arrival bubble_arrives(const Case& c) {
  const Seconds<> longer = felt(c);
  const Ratio<> idle = (c.spent(TimeTerm::kBubble) + longer) / (c.best.step + longer);
  Sentence then;
  then << "the same work takes " << stated_risk(c.risk(), &RiskFigures::felt) << " longer";
  Stated at = stated_share("level", idle.raw());
  at.text += " of the step";
  return {"above", at, then};
}

// Stragglers ------------------------------------------------------------------------------------------------

bool stragglers(const Case& c) { return c.plan().dp >= c.risk().many_replicas.value.raw(); }
Sentence stragglers_said(const Case& c) {
  Sentence s;
  s << "each step ends with the slowest of " << stated_count("replicas", c.plan().dp)
    << " replicas: one GPU that is " << stated_risk(c.risk(), &RiskFigures::slow_gpu)
    << " slow costs all of them " << stated("wait", compute_time(c.best.time) * c.risk().slow_gpu.value)
    << " a step";
  return s;
}
Arrival stragglers_arrive(const Case& c) {
  const double slowest = 1 + (felt(c) / compute_time(c.best.time)).raw();
  return {"above", times("the median", slowest), felt_said(c)};
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
  s << "sets both the pace of the all-to-all (" << of_step(c, "exchange", c.spent(TimeTerm::kExpert))
    << ") and the memory";
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

Seconds<> ordered_chunks_wait(const Case& c) {
  return c.spent(TimeTerm::kAttention) * (ordered_chunks<double>(c.plan()) - ratio(1));
}
bool causal_ring(const Case& c) {
  return c.plan().cp > 1 && ordered_chunks_wait(c) > c.best.step * c.risk().worth_saying.value;
}
Sentence causal_ring_said(const Case& c) {
  Sentence s;
  s << "causal attention is taken as even over " << stated_count("context_ranks", c.plan().cp)
    << " context ranks, as with chunks dealt from both ends of the sequence; in their order the last rank "
       "has "
    << stated_number("ordered", ordered_chunks<double>(c.plan()).raw()) << " times the mean and adds "
    << of_step(c, "wait", ordered_chunks_wait(c));
  return s;
}
Arrival causal_ring_arrives(const Case& c) {
  const double slowest = 1 + (felt(c) / c.spent(TimeTerm::kAttention)).raw();
  const double ordered = ordered_chunks<double>(c.plan()).raw();
  Sentence then;
  if (slowest <= ordered) {
    then = felt_said(c);
  } else {
    then << "chunks are in their order, and the step is "
         << stated_share("longer", (ordered_chunks_wait(c) / c.best.step).raw()) << " longer";
  }
  return {"above", times("the mean", std::min(slowest, ordered)), then};
}

constexpr std::array kKinds{
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
