// One replica that serves a dense decoder under tensor parallelism: memory, one decode step, one prompt.
//
//   DecodeCost<> c = decode_cost<double>(question, {8, 8, 2048});   // tp 8, batch 8, 2048 tokens of context
//   c.step()                                                        // 23.7 ms for 175 B on 8 x 5.3 TB/s
//
// Reads the question's model and cluster; its training workload has no say. With Traced the same arithmetic
// carries its explanation. Not here: what catalog/serving.h refuses, batching,
// queues, the host.
#pragma once

#include <cstdint>

#include "catalog/question.h"
#include "cost/group_collectives.h"

namespace shardplan {

struct DecodeCase {
  std::int64_t tensor = 1;   // GPUs of the replica
  std::int64_t batch = 1;    // sequences decoded together
  std::int64_t context = 1;  // tokens of each in the cache, and of a prompt
};

template <class N = double>
struct DecodeCost {
  Bytes<N> weights;      // of the model, 16-bit
  Bytes<N> weights_gpu;  // on each GPU
  /// Cache of one token, all GPUs together: a head that several ranks share is there once on each.
  Bytes<N> kv_token;
  Bytes<N> kv_gpu;       // cache of the batch on each GPU
  Bytes<N> usable;       // of a GPU
  Ratio<N> kv_capacity;  // tokens that the replica's cache holds
  Ratio<N> concurrency;  // sequences of the context that it holds
  Seconds<N> weight_read, kv_read, compute;
  Bytes<N> message;  // of one tensor-parallel all-reduce in decode
  GroupCost<N> all_reduce, prompt_all_reduce;
  Ratio<N> all_reduces;        // in a step
  Seconds<N> prefill_compute;  // of one prompt
  TokensPerSecond<N> throughput;

  Seconds<N> communication() const { return all_reduces * all_reduce.cost.total(); }
  /// Weights are read beside the arithmetic that they are for: the longer of the two is felt.
  Seconds<N> products() const { return max(weight_read, compute); }
  /// Time for each output token: nothing else hides behind the rest.
  Seconds<N> step() const { return products() + kv_read + communication(); }
  Seconds<N> prefill_all_reduce() const { return all_reduces * prompt_all_reduce.cost.total(); }
  Seconds<N> prefill() const { return prefill_compute + prefill_all_reduce(); }
  Bytes<N> memory() const { return weights_gpu + kv_gpu; }
  /// Of each GPU of the replica.
  TokensPerSecond<N> throughput_gpu(const Ratio<N>& tensor) const { return throughput / tensor; }
};

template <class N>
DecodeCost<N> decode_cost(const Question& question, const DecodeCase& decode);

}  // namespace shardplan
