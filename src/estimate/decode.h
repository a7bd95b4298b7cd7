// One replica that serves a dense decoder under tensor parallelism: memory, one decode step, one prompt.
//
//   DecodeCost c = decode_cost(question, {8, 8, 2048});   // tp 8, batch 8, 2048 tokens of context
//   c.step()                                              // 23.7 ms for 175 B on 8 x 5.3 TB/s
//
// Reads the question's model and cluster; its training workload has no say. Not here: mixtures of experts
// (all their weights would be counted as read), batching, queues.
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

struct DecodeCost {
  Bytes<> weights;      // of the model, 16-bit
  Bytes<> weights_gpu;  // on each GPU
  Bytes<> kv_token;     // cache of one token, all GPUs together
  Bytes<> kv_gpu;       // cache of the batch on each GPU
  Seconds<> weight_read, kv_read;
  Bytes<> message;  // of one tensor-parallel all-reduce in decode
  GroupCost<double> all_reduce;
  double all_reduces = 0;                         // in a step
  Seconds<> prefill_compute, prefill_all_reduce;  // of one prompt
  TokensPerSecond<> throughput;

  Seconds<> communication() const { return all_reduces * all_reduce.cost.total(); }
  /// Time for each output token: nothing of it hides behind the rest.
  Seconds<> step() const { return weight_read + kv_read + communication(); }
  Seconds<> prefill() const { return prefill_compute + prefill_all_reduce; }
  Bytes<> memory() const { return weights_gpu + kv_gpu; }
};

DecodeCost decode_cost(const Question& question, const DecodeCase& decode);

}  // namespace shardplan
