// What failures and checkpoints leave of a run's time, of one question on so many GPUs.
//
//   Interruptions<> i = interruptions<double>(estimator);
//   i.between, i.interval, i.effective   // 3.09 h, 5.2 min, 0.92
//
// The cluster's reliability must be known(). Not here: from which rate on it is worth saying
// (reason/failure_modes.h).
#pragma once

#include "estimate/estimator.h"

namespace shardplan {

template <class N = double>
struct Interruptions {
  Seconds<N> between;   // mean time from one to the next
  Bytes<N> checkpoint;  // what one holds
  Seconds<N> write;     // of one
  Seconds<N> interval;  // the best, of work between two
  Ratio<N> effective;   // share of the time that goes into steps that count, at that interval
};

template <class N>
Interruptions<N> interruptions(const Estimator& estimator);

/// The share at another rate of interruptions, with the interval that is best there.
Ratio<> effective_time(const Interruptions<>& at, Seconds<> restart, Seconds<> between);

}  // namespace shardplan
