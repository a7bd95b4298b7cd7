// The kinds of failure that a training plan may accept: when each applies, what it says, where it has
// arrived.
//
//   for (const FailureKind& kind : time_failures()) if (kind.applies(c)) ...
//
// Private to reason/: failure_modes.cpp goes through them.
#pragma once

#include <span>

#include "reason/sentence.h"

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
  const Question& question() const { return estimator.question(); }
  const Cluster& cluster() const { return question().cluster; }
  const Plan& plan() const { return best.plan; }
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
/// Of memory, on the device and on the host (failure_memory.cpp).
std::span<const FailureKind> memory_failures();
/// Of the run: what is learnt of a step's tokens, how often it is interrupted (failure_run.cpp).
std::span<const FailureKind> run_failures();

/// What a cost that may grow has grown to when it is felt: a tenth of the step, beyond what steps differ by
/// from one to the next.
inline constexpr double kFelt = 0.1;
inline Seconds<> felt(const FailureCase& c) { return c.best.step * ratio(kFelt); }
/// "the step is 10 % longer".
Sentence felt_said();

}  // namespace shardplan
