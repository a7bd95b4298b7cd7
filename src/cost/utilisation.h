// FLOP of one step as published figures count them, and utilisation: FLOP over what the devices could do.
//
// Sources count differently, so the same run has several MFUs: a causal mask halves the attention or not, the
// input embedding counts or not, recomputation counts (HFU) or not. One formula for each way of counting;
// which source counts how is in estimate/utilisation.cpp.
//
//   llama3-8b at 8192 tokens, GFLOP a token: 51.5 (causal), 57.9 (attention in full), 61.1 (PaLM)
//
// Not here: how long the work takes (cost/compute.h).
#pragma once

#include "cost/compute.h"

namespace shardplan {

/// FLOP that the model itself needs for a step.
struct ModelFlops {
  static constexpr FormulaInfo info{
      "compute.model_flops",
      "model FLOP of one step",
      {"kaplan2020", "sec. 2.1: 6 N a training token; attention counted apart"},
      "backward is twice forward; recomputation not counted; a convention is what it counts as parameters and "
      "as attention: causal halves it, korthikanti2022 (eq. 7) does not, chowdhery2022 (PaLM, appendix B) counts "
      "the input embedding too"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> matmul_parameters;  // active parameters that take part in matrix products, head included
    Flops<N> attention_forward;  // of one token, all layers
  };
  static constexpr std::array<std::string_view, 3> symbols{"D", "N", "A"};
  static constexpr std::array<std::string_view, 3> inputs{
      "tokens", "matmul parameters: active parameters that take part in matrix products, head included",
      "attention forward: of one token, all layers"};
  template <class N>
  static constexpr Flops<N> eval(const In<N>& in) {
    const Flops<N> multiply_add{N(work::kMultiplyAdd)};
    const auto forward = in.tokens * (in.matmul_parameters * multiply_add + in.attention_forward);
    return forward + 2.0 * forward;
  }
  static constexpr std::array examples{
      Example<ModelFlops>{{ratio(1e6), ratio(7e9), flops(0)}, 4.2e16, "6 x 7e9 x 1e6"},
      Example<ModelFlops>{{ratio(1), ratio(7504658432), flops(2147483648)},
                          51470401536.0,
                          "llama3-8b, 8192 tokens: Megatron-Bridge's and MaxText's 51.5 GFLOP a token"},
      Example<ModelFlops>{{ratio(8192), ratio(22057844736), flops(2415919104)},
                          1143560812363776.0,
                          "korthikanti2022, eq. 7 with B 4, L 48, s 2048, h 6144, V 51200 (22B of table 3)"},
      Example<ModelFlops>{{ratio(1), ratio(8029995008), flops(4294967296)},
                          61064871936.0,
                          "llama3-8b, 8192 tokens: torchtitan's 61.0 GFLOP a token, as PaLM counts"}};
};

/// FLOP that the hardware did, by Megatron-LM's count: whole layers run forward again, the head does not.
struct MegatronHardwareFlops {
  static constexpr FormulaInfo info{
      "compute.hardware_flops.megatron",
      "hardware FLOP of one step, whole layers recomputed",
      {"narayanan2021", "sec. 5.1 and appendix, eq. 3: 96 B s l h^2 (1 + s/6h + V/16lh)"},
      "attention in full; equal to eq. 3 where all layers are recomputed, the MLP is 4 h wide and each head has "
      "its own keys"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> layer_parameters;
    Ratio<N> head_parameters;
    Flops<N> attention_forward;
    Ratio<N> recomputed;
  };
  static constexpr std::array<std::string_view, 5> symbols{"D", "N_l", "N_h", "A", "r"};
  static constexpr std::array<std::string_view, 5> inputs{
      "tokens", "matmul parameters of the layers", "matmul parameters of the head",
      "attention forward: of one token, all layers, not halved", "share of the layers that is recomputed"};
  template <class N>
  static constexpr Flops<N> eval(const In<N>& in) {
    const Flops<N> multiply_add{N(work::kMultiplyAdd)};
    const auto again =
        named("layers forward again",
              in.tokens * in.recomputed * (in.layer_parameters * multiply_add + in.attention_forward));
    return call<ModelFlops>(typename ModelFlops::template In<N>{
               in.tokens, in.layer_parameters + in.head_parameters, in.attention_forward}) +
           again;
  }
  static constexpr std::array examples{
      Example<MegatronHardwareFlops>{
          {ratio(8192), ratio(21743271936), ratio(314572800), flops(2415919104), ratio(1)},
          1519593789063168.0,
          "eq. 3 with B 4, l 48, s 2048, h 6144, V 51200"},
      Example<MegatronHardwareFlops>{
          {ratio(8192), ratio(21743271936), ratio(314572800), flops(2415919104), ratio(0)},
          1143560812363776.0,
          "nothing is recomputed: korthikanti2022, eq. 7"}};
};

/// The same where only the attention core is recomputed.
struct SelectiveHardwareFlops {
  static constexpr FormulaInfo info{
      "compute.hardware_flops.selective",
      "hardware FLOP of one step, attention cores recomputed",
      {"korthikanti2022", "appendix A, eq. 8: 72 B L s h^2 (1 + s/3h + V/12hL)"},
      "as printed: the attention cores' forward and backward count twice, though only forward runs again"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> matmul_parameters;
    Flops<N> attention_forward;
  };
  static constexpr std::array<std::string_view, 3> symbols{"D", "N", "A"};
  static constexpr std::array<std::string_view, 3> inputs{
      "tokens", "matmul parameters: active parameters that take part in matrix products, head included",
      "attention forward: of one token, all layers, not halved"};
  template <class N>
  static constexpr Flops<N> eval(const In<N>& in) {
    return call<ModelFlops>(ModelFlops::In<N>{in.tokens, in.matmul_parameters, 2.0 * in.attention_forward});
  }
  static constexpr std::array examples{
      Example<SelectiveHardwareFlops>{{ratio(8192), ratio(22057844736), flops(2415919104)},
                                      1202934440263680.0,
                                      "eq. 8 with B 4, L 48, s 2048, h 6144, V 51200"}};
};

/// FLOP over what the devices could do in the time.
struct FlopsUtilisation {
  static constexpr FormulaInfo info{
      "compute.utilisation",
      "share of the devices' FLOP, MFU or HFU",
      {"chowdhery2022", "sec. 4.1: observed throughput over that at peak FLOP/s"},
      "the peak is that of dense products, of a precision that the convention names"};
  template <class N>
  struct In {
    using Number = N;
    Flops<N> work;
    Seconds<N> step;
    Ratio<N> devices;
    FlopsPerSecond<N> peak;
  };
  static constexpr std::array<std::string_view, 4> symbols{"F", "t", "n", "P"};
  static constexpr std::array<std::string_view, 4> inputs{"FLOP of a step", "the step", "devices",
                                                          "peak of one device"};
  template <class N>
  static constexpr Ratio<N> eval(const In<N>& in) {
    return in.work / (in.step * in.peak * in.devices);
  }
  static constexpr std::array examples{
      Example<FlopsUtilisation>{{flops(1143560812363776), seconds(1.1), ratio(8), teraflops_per_s(312)},
                                0.41650670613482516,
                                "korthikanti2022, table 5, 22B: prints 41.5 % for a step of 1.10 s"}};
};

/// The same where the weights are frozen and only adapters are trained.
struct FrozenModelFlops {
  static constexpr FormulaInfo info{
      "compute.model_flops_frozen",
      "model FLOP of one step on a frozen base",
      {"kaplan2020", "sec. 2.1, without the product that makes the weight's gradient"},
      "a frozen product runs forward and for its input's gradient; attention as in a full step; the adapters' own "
      "products are not counted"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> matmul_parameters;
    Flops<N> attention_forward;
  };
  static constexpr std::array<std::string_view, 3> symbols{"D", "N", "A"};
  static constexpr std::array<std::string_view, 3> inputs{
      "tokens", "matmul parameters: active parameters that take part in matrix products, head included",
      "attention forward: of one token, all layers"};
  template <class N>
  static constexpr Flops<N> eval(const In<N>& in) {
    const Flops<N> multiply_add{N(work::kMultiplyAdd)};
    const auto products = named("products forward", in.tokens * in.matmul_parameters * multiply_add);
    const auto attention = named("attention forward", in.tokens * in.attention_forward);
    return 2.0 * products + attention + 2.0 * attention;
  }
  static constexpr std::array examples{
      Example<FrozenModelFlops>{{ratio(1e6), ratio(7e9), flops(0)}, 2.8e16, "4 x 7e9 x 1e6"}};
};

struct TrainingThroughput {
  static constexpr FormulaInfo info{"compute.throughput",
                                    "tokens a second of each GPU",
                                    {"chowdhery2022", "sec. 4.1: observed throughput in tokens a second"},
                                    "padding is counted as tokens"};
  template <class N>
  struct In {
    using Number = N;
    Tokens<N> tokens;
    Ratio<N> devices;
    Seconds<N> step;
  };
  static constexpr std::array<std::string_view, 3> symbols{"D", "n", "t"};
  static constexpr std::array<std::string_view, 3> inputs{"tokens of a step", "devices", "the step"};
  template <class N>
  static constexpr TokensPerSecond<N> eval(const In<N>& in) {
    return in.tokens / in.devices / in.step;
  }
  static constexpr std::array examples{
      Example<TrainingThroughput>{{tokens(8192), ratio(8), seconds(1.1)},
                                  930.9090909090909,
                                  "korthikanti2022, table 5, 22B: 4 sequences of 2048 in 1.10 s on 8 GPUs"}};
};

}  // namespace shardplan
