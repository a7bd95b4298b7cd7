// The time of a token and of a prompt on a serving engine, term by term: one replica, any decoder.
//
//   const ServeShape shape(model, {.tensor = 8}, format);
//   TokenTime<> t = token_time<double>(cluster, shape, engine, launch, {.batch = 64, .input = 1024,
//   .output = 1024});
//   t.step(), t.prompt(), t.token()      // TPOT: a step, and what prompts of other requests add to it
//
// A replica is tensor x data x pipeline GPUs: attention is cut over `tensor` ranks and repeated on `data` of
// such groups, which have requests of their own; experts are over all of a stage. Times are means: every
// request has the same lengths, and the replica always as many requests as told.
//
// Not here: what fits (serve_memory.h), queues and percentiles (serve.h), the constants
// (catalog/serving_time.json).
#pragma once

#include "catalog/cluster.h"
#include "cost/collectives.h"
#include "estimate/serve_shape.h"
#include "formula/traced.h"

namespace shardplan {

/// The all-reduces of a step or of a prompt; nothing under tp 1.
template <class N = double>
struct AllReduces {
  Ratio<N> count;
  Bytes<N> message;
  CollectiveCost<N> one;
  std::size_t tier = 0;      // the outermost one they cross
  std::size_t paced_by = 0;  // the one that a faster link would be bought for

  Seconds<N> latency() const { return count * one.latency_term; }
  Seconds<N> content() const { return count * one.bandwidth_term; }
  Seconds<N> total() const { return count * one.total(); }
};

template <class N = double>
struct TokenTime {
  Seconds<N> weights, products;  // of a step: beside each other, the longer is felt
  Seconds<N> cache, floor, traffic, host, exchange, sends, drafts;
  AllReduces<N> all_reduces;
  Seconds<N> prompt_products, prompt_scores, prompt_traffic, prompt_exchange, prompt_sends;
  AllReduces<N> prompt_all_reduces;
  Seconds<N> prompts;         // what other requests' prompts add to a token
  Ratio<N> accepted{N(1.0)};  // tokens that a step makes for a request

  Seconds<N> step() const {
    return sum(max(weights, products),
               {cache, floor, traffic, host, exchange, all_reduces.total(), sends, drafts});
  }
  Seconds<N> prompt() const {
    return sum(prompt_products,
               {prompt_scores, prompt_traffic, prompt_exchange, prompt_all_reduces.total(), prompt_sends});
  }
  /// A step for each output token, on average.
  Seconds<N> step_token() const { return value_of(accepted) == 1 ? step() : step() / accepted; }
  /// Time for each output token, on average.
  Seconds<N> token() const { return sum(step_token(), {prompts}); }

 private:
  /// Terms that are nothing have no part in the sum.
  static Seconds<N> sum(Seconds<N> first, std::initializer_list<Seconds<N>> rest) {
    for (const Seconds<N>& term : rest) {
      if (value_of(term) != 0) first = first + term;
    }
    return first;
  }
};

/// How a replica is asked to work, beside its split: the load, and what its engine does of it.
struct ServeWork {
  ServeLoad load;
  Drafts drafts;
  double padded = 0;  // sequences of a group that a captured step computes; 0 = those that there are
};

/// `launch` is what starting a collective takes in a captured step.
template <class N>
TokenTime<N> token_time(const Cluster& cluster, const ServeShape& shape, const ServingTime& engine,
                        const Sourced<Seconds<>>& launch, const ServeWork& work);

/// The same all-reduce by a kernel that reads every peer at once: one step of the tier's latency.
CollectiveCost<double> one_shot_all_reduce(const Cluster& cluster, const ServeSplit& split,
                                     const AllReduces<>& reduces);

/// Requests of a micro-batch of one group of attention: a stage works on one at a time.
double sequences_at_once(const ServeSplit& split, const ServeLoad& load);

}  // namespace shardplan
