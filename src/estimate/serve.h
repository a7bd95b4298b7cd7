// One replica that serves: does the load fit, how late are tokens, how many requests does it carry.
//
//   const ServeShape shape(question.question.model, {.tensor = 8}, question.format);
//   ServeCost<> c = serve_cost<double>(question, shape, {.batch = 64});
//   c.fits(), c.tpot, c.ttft, c.requests
//
// Times are those that the told share of requests keeps, or the mean. With Traced the same arithmetic carries
// its explanation. Not here: which splits are legal and which is best (search/serve_search.h).
#pragma once

#include <cstdint>

#include "catalog/serving.h"
#include "estimate/serve_memory.h"
#include "estimate/serve_time.h"

namespace shardplan {

struct ServeRun {
  std::int64_t batch = 1;          // requests at once on the replica
  bool prompts_elsewhere = false;  // others compute the prompts
};

template <class N = double>
struct ServeCost {
  ServeMemory<N> memory;
  ServeRoom<N> room;
  Bytes<N> kept;  // cache of the requests at once, on a GPU
  TokenTime<N> time;
  Ratio<N> busy;     // share of the time that prompts take
  Seconds<N> queue;  // wait of a prompt
  Seconds<N> ttft, tpot;
  PerSecond<N> requests;          // that the replica finishes; 0 where the answers' length is not told
  TokensPerSecond<N> throughput;  // output tokens

  bool weights_fit() const { return value_of(room.pool) >= 0; }
  bool fits() const { return weights_fit() && value_of(kept) <= value_of(room.pool); }
  /// What is on a GPU beside what no plan can change.
  Bytes<N> held() const { return memory.total_weights() + kept; }
};

template <class N>
ServeCost<N> serve_cost(const ServeQuestion& question, const ServeShape& shape, const ServeRun& run);

/// Tokens of a request that the cache is to hold.
double request_tokens(const ServeQuestion& question);
/// Where a share of a normal distribution ends, in deviations: 1.645 for 0.95.
double normal_deviations(double share);

/// A replica that computes prompts for others: one after the other.
template <class N = double>
struct PrefillCost {
  ServeMemory<N> memory;
  ServeRoom<N> room;
  TokenTime<N> time;
  Seconds<N> transfer;  // of a prompt's cache to the replica that decodes
  bool fits() const { return value_of(room.pool) >= value_of(memory.request); }
};
template <class N>
PrefillCost<N> prefill_cost(const ServeQuestion& question, const ServeShape& shape);
/// Time to the first token where such a replica is busy for that share of the time.
template <class N>
Seconds<N> prefill_ttft(const ServeQuestion& question, const PrefillCost<N>& cost, const Ratio<N>& busy);

}  // namespace shardplan
