// Activations by the closed forms of arXiv:2205.05198 (Korthikanti et al. 2022), for a GPT layer with unfused
// attention.
//
// T = tokens of one micro-batch on the rank (s b / c), s = keys each query meets (the whole sequence), t =
// tensor parallel degree, t_s = t with sequence parallelism, else 1. With t_s = t the tensor form becomes
// equation 4. Worked value: 175B (L 96, h 12288, a 96), s 2048, micro-batch 1: 256.5 GiB none, 76.5
// selective, 4.5 full.
#pragma once

#include "cost/activations_ops.h"

namespace shardplan {

namespace paper {
// Bytes a token and hidden unit that tensor parallelism does not divide (10) and divides (24): together the
// 34 of eq. 1.
inline constexpr Bytes<> kUndividedBytes = bytes(10);
inline constexpr Bytes<> kDividedBytes = bytes(24);
// Bytes of one attention score: softmax output 2, its dropout mask 1, dropout output 2.
inline constexpr Bytes<> kScoreBytes = bytes(5);
// Bytes of one bf16 value: the layer input that full recomputation keeps.
inline constexpr Bytes<> kInputBytes = bytes(2);
}  // namespace paper

/// Equations 1, 2 and 4: everything a layer keeps.
struct PaperLayerNone {
  static constexpr FormulaInfo info{"memory.activations.paper.none",
                                    "activations of one layer, no recomputation",
                                    {"korthikanti2022", "eqs. 1, 2 and 4"},
                                    "GPT layer, 16-bit activations, dropout, attention scores kept"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> hidden;
    Ratio<N> heads;
    Ratio<N> sequence;
    Ratio<N> tensor;
    Ratio<N> tensor_sequence;
  };
  static constexpr std::array<std::string_view, 6> symbols{"T", "h", "a", "s", "t", "t_s"};
  static constexpr std::array<std::string_view, 6> inputs{
      "tokens", "hidden size", "heads", "sequence", "tensor-parallel degree", kept::kSequenceDegree};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    const auto elementwise =
        named("norms, dropout and inputs",
              in.tokens * in.hidden * (kept::constant<N>(paper::kUndividedBytes) / in.tensor_sequence));
    const auto matmul = named("attention and MLP",
                              in.tokens * in.hidden * (kept::constant<N>(paper::kDividedBytes) / in.tensor));
    const auto scores = named("attention scores", in.tokens * in.heads * in.sequence *
                                                      kept::constant<N>(paper::kScoreBytes) / in.tensor);
    return elementwise + matmul + scores;
  }
  static constexpr std::array examples{
      Example<PaperLayerNone>{{ratio(2048), ratio(12288), ratio(96), ratio(2048), ratio(1), ratio(1)},
                              2868903936.0,
                              "eq. 1: 2048 x 12288 x (34 + 5 x 96 x 2048 / 12288) = 114 s b h"},
      Example<PaperLayerNone>{{ratio(2048), ratio(12288), ratio(96), ratio(2048), ratio(8), ratio(8)},
                              358612992.0,
                              "eq. 4: an eighth of eq. 1 with tensor and sequence parallelism of 8"},
      Example<PaperLayerNone>{{ratio(2048), ratio(12288), ratio(96), ratio(2048), ratio(8), ratio(1)},
                              578813952.0,
                              "eq. 2: 2048 x 12288 x (10 + 24/8 + 80/8) = 23 s b h"}};
};

/// Equation 6's layer: attention scores, softmax and dropout are recomputed.
struct PaperLayerSelective {
  static constexpr FormulaInfo info{
      "memory.activations.paper.selective",
      "activations of one layer, selective recomputation",
      {"korthikanti2022", "eq. 6 and table 2"},
      "GPT layer, 16-bit activations, dropout; scores are recomputed in the backward pass"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> hidden;
    Ratio<N> tensor;
    Ratio<N> tensor_sequence;
  };
  static constexpr std::array<std::string_view, 4> symbols{"T", "h", "t", "t_s"};
  static constexpr std::array<std::string_view, 4> inputs{"tokens", "hidden size", "tensor-parallel degree",
                                                          kept::kSequenceDegree};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.tokens * in.hidden *
           (kept::constant<N>(paper::kUndividedBytes) / in.tensor_sequence +
            kept::constant<N>(paper::kDividedBytes) / in.tensor);
  }
  static constexpr std::array examples{
      Example<PaperLayerSelective>{{ratio(2048), ratio(12288), ratio(1), ratio(1)}, 855638016.0, "34 s b h"},
      Example<PaperLayerSelective>{
          {ratio(2048), ratio(12288), ratio(8), ratio(8)}, 106954752.0, "34 s b h / 8"}};
};

/// Table 2, last row: only the layer's input is kept.
struct PaperLayerFull {
  static constexpr FormulaInfo info{
      "memory.activations.paper.full",
      "activations of one layer, full recomputation",
      {"korthikanti2022", "table 2, last row"},
      "the 16-bit layer input is kept whole on every tensor-parallel rank, or divided under "
      "sequence parallelism"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> hidden;
    Ratio<N> tensor_sequence;
  };
  static constexpr std::array<std::string_view, 3> symbols{"T", "h", "t_s"};
  static constexpr std::array<std::string_view, 3> inputs{"tokens", "hidden size", kept::kSequenceDegree};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.tokens * in.hidden * kept::constant<N>(paper::kInputBytes) / in.tensor_sequence;
  }
  static constexpr std::array examples{Example<PaperLayerFull>{
      {ratio(2048), ratio(12288), ratio(1)}, 50331648.0, "2 s b h: 4.5 GiB over 96 layers"}};
};

/// Logits of one micro-batch and the loss over them.
struct Logits {
  static constexpr FormulaInfo info{
      "memory.logits",
      "logits and their loss",
      {"megatron-core", "tensor_parallel/cross_entropy.py"},
      "vocabulary divided over the tensor-parallel group; k bytes a logit: the 16-bit logits "
      "and one fp32 tensor that later steps reuse in place"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> vocabulary;
    Ratio<N> tensor;
    Bytes<N> bytes_per_logit;
  };
  static constexpr std::array<std::string_view, 4> symbols{"T", "V", "t", "k"};
  static constexpr std::array<std::string_view, 4> inputs{"tokens", "vocabulary", "tensor-parallel degree",
                                                          "bytes per logit"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.tokens * in.vocabulary / in.tensor * in.bytes_per_logit;
  }
  static constexpr std::array examples{Example<Logits>{{ratio(4096), ratio(128256), ratio(1), bytes(6)},
                                                       3152019456.0,
                                                       "4096 tokens x 128256 x (2 + 4) bytes"}};
};

/// Micro-batch chunks (each a share 1/v of the rank's layers) whose activations are alive once the pipeline
/// is full.
struct InFlightFull {
  static constexpr FormulaInfo info{
      "pipeline.in_flight.full",
      "chunks with live activations on a pipeline rank, pipeline full",
      {"korthikanti2022", "eq. 5 and sec. 4.2.3; schedule of narayanan2021 sec. 2.2"},
      "1F1B (v = 1) or interleaved 1F1B with micro-batches enough to fill it; counted with the chunk that runs"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> stages;
    Ratio<N> rank;
    Ratio<N> chunks_per_rank;
    Ratio<N> group;
  };
  static constexpr std::array<std::string_view, 4> symbols{"p", "r", "v", "n_g"};
  static constexpr std::array<std::string_view, 4> inputs{
      "stages", "rank", "chunks per rank",
      "micro-batches that run through a chunk before the next one's turn: p in the paper"};
  template <class N>
  static constexpr Ratio<N> eval(const In<N>& in) {
    const Ratio<N> one{N(1.0)};
    const auto after = named("ranks after this one", in.stages - in.rank - one);
    // Interleaving needs twice the ranks after, because a chunk passes each of them forward and backward.
    const auto warm_up =
        value_of(in.chunks_per_rank) > 1 ? 2.0 * after + (in.chunks_per_rank - one) * in.group : after;
    return warm_up + one;
  }
  static constexpr std::array examples{
      Example<InFlightFull>{{ratio(4), ratio(0), ratio(2), ratio(4)},
                            11.0,
                            "interleaved: p v (1 + (p-1)/(p v)) = 8 + 3 chunks of half a rank's layers"},
      Example<InFlightFull>{
          {ratio(8), ratio(0), ratio(1), ratio(8)}, 8.0, "1F1B: the first rank holds p micro-batches"},
      Example<InFlightFull>{{ratio(8), ratio(7), ratio(1), ratio(8)}, 1.0, "1F1B: the last rank holds one"},
      Example<InFlightFull>{{ratio(4), ratio(3), ratio(3), ratio(5)},
                            11.0,
                            "Megatron, groups of 5 on 4 stages: (v - 1) 5 + 1 on the last rank"}};
};

/// The same when the step may have too few micro-batches to fill the pipeline.
struct InFlight {
  static constexpr FormulaInfo info{"pipeline.in_flight",
                                    "chunks with live activations on a pipeline rank",
                                    {"narayanan2021", "secs. 2.2.1 and 2.2.2, fig. 4"},
                                    "1F1B (v = 1) or interleaved 1F1B; never more chunks than the step has"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> stages;
    Ratio<N> rank;
    Ratio<N> chunks_per_rank;
    Ratio<N> group;
    Ratio<N> micro_batches;
  };
  static constexpr std::array<std::string_view, 5> symbols{"p", "r", "v", "n_g", "m"};
  static constexpr std::array<std::string_view, 5> inputs{
      "stages", "rank", "chunks per rank", "micro-batches that run through a chunk in turn", "micro-batches"};
  template <class N>
  static constexpr Ratio<N> eval(const In<N>& in) {
    return min(in.micro_batches * in.chunks_per_rank,
               call<InFlightFull>(InFlightFull::In<N>{in.stages, in.rank, in.chunks_per_rank, in.group}));
  }
  static constexpr std::array examples{
      Example<InFlight>{{ratio(8), ratio(0), ratio(1), ratio(8), ratio(64)}, 8.0, "enough micro-batches: p"},
      Example<InFlight>{
          {ratio(8), ratio(0), ratio(1), ratio(8), ratio(2)}, 2.0, "two micro-batches: no more than two"},
      Example<InFlight>{{ratio(4), ratio(3), ratio(3), ratio(5), ratio(10)},
                        11.0,
                        "Megatron, groups of 5 on 4 stages: (v - 1) 5 + 1 on the last rank"}};
};

}  // namespace shardplan
