// What failures and checkpoints leave of a run's time: how often it is interrupted, what a checkpoint holds
// and how long it is written, how often that is worth it, and the share of the time that goes into steps that
// count.
//
//   call<CheckpointInterval>(CheckpointInterval::In<double>{seconds(300), seconds(86400)})   // 117 min
//
// Checkpoints stop the run while they are written: one that is copied to the host first and written beside
// the next steps is told by the bandwidth of that copy. Not here: the figures that these start from
// (catalog/reliability.json), what they are for a plan (estimate/interruptions.h).
#pragma once

#include "formula/formula.h"

namespace shardplan {

struct InterruptionTime {
  static constexpr FormulaInfo info{
      "run.interruption_time",
      "mean time between interruptions of a run",
      {"kokolis2025", "sec. III: the mean time to failure of a job is 1 / (nodes x failures of a node)"},
      "any GPU's failure interrupts the whole run; failures are independent and as likely at any time, so "
      "that small jobs, which fail for reasons of their own more often, are not described"};
  template <class N>
  struct In {
    using Number = N;
    Seconds<N> gpu;
    Ratio<N> gpus;
  };
  static constexpr std::array<std::string_view, 2> symbols{"M_1", "n"};
  static constexpr std::array<std::string_view, 2> inputs{"mean time between interruptions for one GPU",
                                                          "GPUs"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return in.gpu / in.gpus;
  }
  static constexpr std::array examples{
      Example<InterruptionTime>{{seconds(182437208.59188545), ratio(16384)},
                                11135.083532219571,
                                "Llama 3 405B, arXiv:2407.21783, sec. 3.3.4: 419 in 54 days, one in 3.1 h"},
      Example<InterruptionTime>{{seconds(8 * 1000 * 86400 / 6.5), ratio(16384)},
                                6490.384615384615,
                                "kokolis2025: 6.5 failures in 1,000 node days, 1.8 h on 16,384 GPUs"}};
};

struct CheckpointSize {
  static constexpr FormulaInfo info{
      "run.checkpoint_size",
      "bytes of a checkpoint that training goes on from",
      {"bloom-training", "checkpoints: 329 GB of bf16 weights, 2.3 TB with the optimizer's states"},
      "weights, their masters and moments of everything that is trained, once whatever the sharding; no "
      "gradients, no data loader"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> parameters;
    Bytes<N> weight;
    Bytes<N> optimizer;
  };
  static constexpr std::array<std::string_view, 3> symbols{"P", "w", "o"};
  static constexpr std::array<std::string_view, 3> inputs{"parameters that are trained", "bytes of a weight",
                                                          "bytes of master and moments a parameter"};
  template <class N>
  static constexpr Bytes<N> eval(const In<N>& in) {
    return in.parameters * (in.weight + in.optimizer);
  }
  static constexpr std::array examples{
      Example<CheckpointSize>{{ratio(176247271424.0), bytes(2), bytes(12)},
                              2.3 * 1099511627776.0,
                              "BLOOM: 2.3 TB is printed beside 329 GB for 2 bytes a weight, so TiB is meant",
                              0.03},
      Example<CheckpointSize>{{ratio(7e9), bytes(2), bytes(12)}, 98e9, "7 B parameters at 14 bytes: 98 GB"}};
};

struct CheckpointWrite {
  static constexpr FormulaInfo info{"run.checkpoint_write",
                                    "time in which a checkpoint is written",
                                    {"llama3", "sec. 3.3.1: storage that sustains 2 TB/s, 7 TB/s at most"},
                                    "all ranks write their shares at once and the storage is what holds them "
                                    "up; the run waits"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> size;
    BytesPerSecond<N> bandwidth;
  };
  static constexpr std::array<std::string_view, 2> symbols{"S", "B_s"};
  static constexpr std::array<std::string_view, 2> inputs{"bytes of the checkpoint",
                                                          "bandwidth of the storage"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return in.size / in.bandwidth;
  }
  static constexpr std::array examples{Example<CheckpointWrite>{
      {terabytes(5.67), terabytes_per_s(2)}, 2.835, "405 B parameters at 14 bytes, over 2 TB/s"}};
};

struct CheckpointInterval {
  static constexpr FormulaInfo info{
      "run.checkpoint_interval",
      "best time of work between two checkpoints",
      {"daly2006",
       "closed form of the result: sqrt(2 C M) (1 + sqrt(C / 2M) / 3 + (C / 2M) / 9) - C; its first factor is "
       "the interval of Young, 1974"},
      "failures as likely at any time; writing takes less than twice the time between interruptions, else "
      "its own time is taken as no more than that"};
  template <class N>
  struct In {
    using Number = N;
    Seconds<N> write;
    Seconds<N> between;
  };
  static constexpr std::array<std::string_view, 2> symbols{"C", "M"};
  static constexpr std::array<std::string_view, 2> inputs{"time in which a checkpoint is written",
                                                          "mean time between interruptions"};
  static constexpr double kFirst = 3, kSecond = 9;  // of the perturbation series
  template <class N>
  static Seconds<N> eval(const In<N>& in) {
    const Ratio<N> one(N(1.0));
    const auto twice = 2.0 * in.between;
    const auto share = named("x^2", min(in.write / twice, one));
    const auto x = named("x", sqrt(share));
    return twice * x * (one + x / kFirst + share / kSecond - x);
  }
  static constexpr std::array examples{
      Example<CheckpointInterval>{
          {seconds(300), seconds(86400)}, 117 * 60.0, "daly2006, fig. 3: 117 min at M = 24 h", 0.005},
      Example<CheckpointInterval>{
          {seconds(300), seconds(21600)}, 57 * 60.0, "daly2006, fig. 4: 57 min at M = 6 h", 0.006},
      Example<CheckpointInterval>{
          {seconds(300), seconds(900)}, 9.1 * 60.0, "daly2006, fig. 5: 9.1 min at M = 15 min", 0.006}};
};

struct EffectiveTime {
  static constexpr FormulaInfo info{
      "run.effective_time",
      "share of a run's time that goes into steps that count (goodput)",
      {"daly2006", "complete cost function: T = M exp(R/M) (exp((t + C)/M) - 1) T_s / t"},
      "failures as likely at any time, also while a checkpoint is written and while the run restarts; what "
      "an interruption undoes is done again; evaluation and planned stops are not in it"};
  template <class N>
  struct In {
    using Number = N;
    Seconds<N> interval;
    Seconds<N> write;
    Seconds<N> restart;
    Seconds<N> between;
  };
  static constexpr std::array<std::string_view, 4> symbols{"t", "C", "R", "M"};
  static constexpr std::array<std::string_view, 4> inputs{
      "time of work between checkpoints", "time in which one is written",
      "time from an interruption until steps go on", "mean time between interruptions"};
  template <class N>
  static Ratio<N> eval(const In<N>& in) {
    const Ratio<N> one(N(1.0));
    return in.interval /
           (in.between * exp(in.restart / in.between) * (exp((in.interval + in.write) / in.between) - one));
  }
  static constexpr std::array examples{
      Example<EffectiveTime>{{seconds(3600), seconds(60), seconds(600), seconds(36000)},
                             0.9190084736495354,
                             "worked by hand: 0.1 / (e^(1/60) (e^0.101667 - 1))",
                             1e-12},
      Example<EffectiveTime>{{seconds(3600), seconds(60), seconds(600), seconds(36000)},
                             (1 - (600 + 1800) / 36000.0) / (1 + 60 / 3600.0),
                             "kokolis2025, expected ETTR to first order: (1 - (R + t/2)/M) / (1 + C/t)",
                             0.01}};
};

}  // namespace shardplan
