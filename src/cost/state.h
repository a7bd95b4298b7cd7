// State: weights, gradients and optimizer state of one rank, and the floor that no plan can go below.
//
// Which bytes a framework keeps and what each ZeRO stage divides is data (catalog/frameworks.json); here is
// only the arithmetic. Worked value: 175 B parameters at 16 bytes are 2607.70 GiB, 325.96 GiB on each of 8
// GPUs.
#pragma once

#include "formula/formula.h"

namespace shardplan {

/// One kind of state (weights, gradients or optimizer) on one rank.
struct StateTerm {
  static constexpr FormulaInfo info{
      "memory.state.term",
      "state of one kind on one rank",
      {"rajbhandari2019", "sec. 5, fig. 1"},
      "dense parameters divided over their shards, expert parameters over theirs"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> bytes_per_parameter;
    Ratio<N> dense_parameters;
    Ratio<N> dense_shards;
    Ratio<N> expert_parameters;
    Ratio<N> expert_shards;
  };
  static constexpr std::array<std::string_view, 5> symbols{"k", "n", "D", "n_e", "D_e"};
  static constexpr std::array<std::string_view, 5> inputs{
      "bytes per parameter", "dense parameters", "dense shards", "expert parameters", "expert shards"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.bytes_per_parameter *
           (in.dense_parameters / in.dense_shards + in.expert_parameters / in.expert_shards);
  }
  static constexpr std::array examples{Example<StateTerm>{
      {bytes(12), ratio(7.5e9), ratio(64), ratio(0), ratio(1)},
      1406250000.0,
      "rajbhandari2019 sec. 5.1: 7.5 B parameters, K = 12, 64-way: 1.4 GB of optimizer state"}};
};

/// Elements of a flat buffer that is divided over a group.
struct PaddedElements {
  static constexpr FormulaInfo info{
      "memory.state.padded",
      "elements of a flat buffer, its padding included",
      {"megatron-core", "distributed/param_and_grad_buffer.py: pad_end_of_bucket_if_needed"},
      "one bucket: with gradient buckets that are reduced one by one each ends so, and there are a few more "
      "such ends"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> elements;
    Ratio<N> multiple;
  };
  static constexpr std::array<std::string_view, 2> symbols{"n", "a"};
  static constexpr std::array<std::string_view, 2> inputs{"elements",
                                                          "multiple that the buffer is padded to"};
  template <class N>
  static Ratio<N> eval(const In<N>& in) {
    return ceil(in.elements / in.multiple) * in.multiple;
  }
  static constexpr std::array examples{Example<PaddedElements>{
      {ratio(1000), ratio(384)}, 1152.0, "24 shards: lcm(24, 128) = 384, and three times that"}};
};

/// State of the whole model, all ranks together.
struct StateTotal {
  static constexpr FormulaInfo info{"memory.state.total",
                                    "state of the whole model",
                                    {"rajbhandari2019", "sec. 3.1"},
                                    "each parameter kept once, with its gradient and optimizer state"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> parameters;
    Bytes<N> bytes_per_parameter;
  };
  static constexpr std::array<std::string_view, 2> symbols{"Psi", "k"};
  static constexpr std::array<std::string_view, 2> inputs{"parameters", "bytes per parameter"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.parameters * in.bytes_per_parameter;
  }
  static constexpr std::array examples{
      Example<StateTotal>{{ratio(175e9), bytes(16)}, 2.8e12, "16 bytes a parameter: 2607.70 GiB for 175 B"},
      Example<StateTotal>{
          {ratio(1.5e9), bytes(16)}, 24e9, "rajbhandari2019 sec. 3.1: GPT-2 of 1.5 B, at least 24 GB"}};
};

/// State on each GPU when everything is divided over all of them: the floor under every plan.
struct StateFloor {
  static constexpr FormulaInfo info{
      "memory.state.floor",
      "state on each GPU under full sharding",
      {"rajbhandari2019", "sec. 5.3"},
      "no replica of anything; no plan of any kind keeps less on its fullest GPU"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> state;
    Ratio<N> gpus;
  };
  static constexpr std::array<std::string_view, 2> symbols{"M", "N"};
  static constexpr std::array<std::string_view, 2> inputs{"state", "gpus"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.state / in.gpus;
  }
  static constexpr std::array examples{
      Example<StateFloor>{{bytes(2.8e12), ratio(8)}, 3.5e11, "175 B on 8 GPUs: 325.96 GiB each"},
      Example<StateFloor>{
          {bytes(120e9), ratio(64)}, 1.875e9, "rajbhandari2019 fig. 1: 7.5 B, 64-way: 1.9 GB"}};
};

/// Memory that a plan may use.
struct UsableMemory {
  static constexpr FormulaInfo info{
      "memory.usable",
      "memory a plan may use",
      {"shardplan", "contract: reserve"},
      "context and communication buffers are a fixed amount, fragmentation a share"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> memory;
    Bytes<N> reserve_fixed;
    Ratio<N> reserve_share;
  };
  static constexpr std::array<std::string_view, 3> symbols{"HBM", "R", "phi"};
  static constexpr std::array<std::string_view, 3> inputs{"memory", "reserve fixed", "reserve share"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.memory - (in.reserve_fixed + in.reserve_share * in.memory);
  }
  static constexpr std::array examples{Example<UsableMemory>{
      {gibibytes(192), gibibytes(2), ratio(0.04)}, 195764609351.68, "192 - (2 + 0.04 x 192) = 182.32 GiB"}};
};

/// Smallest GPU count whose floor fits.
struct MinimumGpus {
  static constexpr FormulaInfo info{
      "memory.state.min_gpus",
      "smallest GPU count that holds the state",
      {"rajbhandari2019", "sec. 5.3"},
      "full sharding, nothing but state; a necessary condition, not a sufficient one"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> state;
    Bytes<N> usable;
  };
  static constexpr std::array<std::string_view, 2> symbols{"M", "U"};
  static constexpr std::array<std::string_view, 2> inputs{"state", "usable"};
  template <class N>
  static Ratio<N> eval(const In<N>& in) {
    return ceil(in.state / in.usable);
  }
  static constexpr std::array examples{
      Example<MinimumGpus>{{bytes(2.8e12), gibibytes(182.32)},
                           15.0,
                           "175 B on 192 GiB cards with the default reserve: 2607.70 / 182.32 = 14.3"}};
};

}  // namespace shardplan
