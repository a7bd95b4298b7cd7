// The time of a token and of a prompt on a serving engine, term by term: one replica, any decoder.
//
//   const ServeShape shape(model, {.tensor = 8}, format);
//   TokenTime<> t = token_time<double>(cluster, shape, engine, {.batch = 64, .input = 1024, .output = 1024});
//   t.step(), t.prompt(), t.token()      // TPOT: a step, and what prompts of other requests add to it
//
// A replica is tensor x data x pipeline GPUs: attention is cut over `tensor` ranks and repeated on `data` of
// such groups, which have requests of their own; experts are over all of a stage. Times are means: every
// request has the same lengths, and the replica always as many requests as told.
//
// Not here: what fits (memory), queues of more requests than run, percentiles, the constants
// (catalog/serving_time.json).
#pragma once

#include <cstdint>
#include <vector>

#include "catalog/cluster.h"
#include "catalog/model.h"
#include "catalog/serving_time.h"
#include "formula/traced.h"

namespace shardplan {

/// In how many bits a replica keeps what it reads, and in which format its products are computed.
struct ServeFormat {
  Precision products = Precision::kBf16;
  double attention_bits = 16, mlp_bits = 16, expert_bits = 16, head_bits = 16, cache_bits = 16;
};

struct ServeSplit {
  std::int64_t tensor = 1, pipeline = 1, data = 1;
  std::int64_t stage_gpus() const { return tensor * data; }
  std::int64_t gpus() const { return stage_gpus() * pipeline; }
};

struct ServeLoad {
  std::int64_t batch = 1;          // requests that run at once on the replica
  double input = 1;                // tokens of a prompt
  double output = 1;               // tokens of an answer
  bool one_length = false;         // all answers are as long: they end together
  bool prompts_elsewhere = false;  // disaggregated: other replicas compute the prompts
};

/// What of a model a step reads and a prompt computes on one GPU, under a split; summed over the layers once,
/// used for every load.
struct ServeShape {
  ServeShape(const Model& model, const ServeSplit& split, const ServeFormat& format);

  /// Layers that keep the same of a token: 0 tokens of window = the whole context.
  struct Cache {
    std::int64_t window = 0;
    double token_bytes = 0;  // on a GPU, of all layers of the kind in a stage
    double score_width = 0;  // query-key plus value dimensions of all heads, all layers of the kind
  };

  ServeSplit split;
  ServeFormat format;
  Source source;
  double layers = 0, routed_layers = 0, hidden = 0;
  double fixed_bytes = 0;         // weights that every step reads: attention, dense and shared MLPs, head
  double expert_bytes = 0;        // of all experts on a GPU
  double fixed_parameters = 0;    // that a token uses on a GPU
  double expert_parameters = 0;   // the same of routed experts, were all GPUs of the stage one
  double experts = 0, top_k = 0;  // of a routed layer
  double state_bytes = 0;         // of recurrent mixers, read and written for each sequence
  std::vector<Cache> caches;
};

template <class N = double>
struct TokenTime {
  Seconds<N> weights, products;  // of a step: beside each other, the longer is felt
  Seconds<N> cache, floor, traffic, host, exchange, all_reduces, sends;
  Seconds<N> prompt_products, prompt_scores, prompt_traffic, prompt_exchange, prompt_all_reduces;
  Seconds<N> prompts;  // what other requests' prompts add to a token

  Seconds<N> step() const {
    return max(weights, products) + cache + floor + traffic + host + exchange + all_reduces + sends;
  }
  Seconds<N> prompt() const {
    return prompt_products + prompt_scores + prompt_traffic + prompt_exchange + prompt_all_reduces;
  }
  /// Time for each output token, on average.
  Seconds<N> token() const { return step() + prompts; }
};

/// `launch` is what starting a collective takes in a captured step.
template <class N>
TokenTime<N> token_time(const Cluster& cluster, const ServeShape& shape, const ServingTime& engine,
                        const Sourced<Seconds<>>& launch, const ServeLoad& load);

}  // namespace shardplan
