// The kinds of failure that a training plan may accept: when each applies, what it says, where it has
// arrived.
//
//   for (const FailureKind& kind : time_failures()) if (kind.applies(c)) ...
//
// Private to reason/: failure_modes.cpp goes through them.
#pragma once

#include <span>

#include "reason/axes.h"
#include "reason/judged_by.h"

namespace shardplan {

/// Where a failure has arrived, and what is so from there on.
struct Arrival {
  const char* when;  // "above", "below"
  Stated at;
  Sentence then;
};

/// The finding of a kind of failure, made from what is stated of it.
FailureMode failure_mode(const char* id, const Sentence& statement, const char* symptom, const char* metric,
                         const Arrival& arrival);

struct FailureCase {
  const Estimator& estimator;
  const Estimate& best;
  std::span<const AxisFinding> axes;  // of the same plan
  const Question& question() const { return estimator.question(); }
  const Cluster& cluster() const { return question().cluster; }
  const Plan& plan() const { return best.plan; }
  const RiskFigures& risk() const { return *question().risk; }
  /// Of the cluster's tiers, the one with that name.
  std::size_t tier(const std::string& name) const;
  Seconds<> spent(TimeTerm term) const { return best.time[term].exposed(); }
};

struct FailureKind {
  const char* id;
  bool (*applies)(const FailureCase&);
  Sentence (*statement)(const FailureCase&);
  Arrival (*arrival)(const FailureCase&);
  const char* symptom;
  const char* metric;
};

/// Of the step's time (failure_time.cpp).
std::span<const FailureKind> time_failures();
/// Of its traffic (failure_traffic.cpp).
std::span<const FailureKind> traffic_failures();
/// Of memory, on the device and on the host (failure_memory.cpp).
std::span<const FailureKind> memory_failures();
/// Of the run: what is learnt of a step's tokens, how often it is interrupted (failure_run.cpp).
std::span<const FailureKind> run_failures();

/// What a cost that may grow has grown to when it is felt.
inline Seconds<> felt(const FailureCase& c) { return c.best.step * c.risk().felt.value; }
/// "1.2 s, 3.1 % of the step": figures `name` and `name`_share.
Sentence of_step(const FailureCase& c, const std::string& name, Seconds<> part);
/// "the step is 10.0 % longer".
Sentence felt_said(const FailureCase& c);

}  // namespace shardplan
