// What a whole run takes: a budget of tokens at a throughput, and what the GPUs cost until then.
//
//   call<RunTime>(RunTime::In<double>{tokens(300e9), rate, ratio(1024)})   // 33.9 days at 100 tokens/s a GPU
//
// A run without interruption: restarts, evaluation and checkpoints are not in it. Not here: the throughput of
// a plan (estimate/), energy, for which units/quantity.h has no dimension (estimate/run_totals.h).
#pragma once

#include "catalog/objective.h"
#include "cost/collectives.h"

namespace shardplan {

struct RunTime {
  static constexpr FormulaInfo info{
      "run.time",
      "time in which a number of tokens is trained on",
      {"narayanan2021", "sec. 5.1, eq. 4: 8 T P / (n X), with X / (8 P) tokens a second and GPU"},
      "every step takes as long as one; no restarts, no evaluation, no checkpoints"};
  template <class N>
  struct In {
    using Number = N;
    Tokens<N> budget;
    TokensPerSecond<N> rate;
    Ratio<N> gpus;
  };
  static constexpr std::array<std::string_view, 3> symbols{"T", "r", "n"};
  static constexpr std::array<std::string_view, 3> inputs{"tokens of the run", "tokens a second of one GPU",
                                                          "GPUs"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return in.budget / (in.rate * in.gpus);
  }
  static constexpr std::array examples{
      Example<RunTime>{{tokens(300e9), TokensPerSecond<>(100), ratio(1024)},
                       2929687.5,
                       "narayanan2021, sec. 5.1: GPT-3 on 1024 A100 at 140 TFLOP/s each, 8 x 175e9 FLOP a "
                       "token: 34 days"},
      Example<RunTime>{{tokens(450e9), TokensPerSecond<>(20.375), ratio(3072)},
                       7189417.177914111,
                       "the same, 1 T parameters on 3072 A100 at 163 TFLOP/s each: 84 days"}};
};

struct RunCost {
  static constexpr FormulaInfo info{
      "run.cost",
      "cost of the GPUs over a time",
      {"deepseek-v3", "sec. 1, table 1: GPU hours times the price of one"},
      "GPUs are paid for as long as the run takes, at one price; nothing else is"};
  template <class N>
  struct In {
    using Number = N;
    Seconds<N> time;
    Ratio<N> gpus;
    UsdPerSecond<N> price;
  };
  static constexpr std::array<std::string_view, 3> symbols{"t", "n", "p"};
  static constexpr std::array<std::string_view, 3> inputs{"time", "GPUs", "price of one GPU"};
  template <class N>
  static constexpr Usd<N> eval(const In<N>& in) {
    return in.time * in.gpus * in.price;
  }
  static constexpr std::array examples{
      Example<RunCost>{{seconds(4900781.25), ratio(2048), UsdPerSecond<>(2.0 / 3600)},
                       5576000.0,
                       "deepseek-v3, table 1: 2788 K GPU hours of H800 at $2 each: $5.576 M"}};
};

}  // namespace shardplan
