// The time of a token and of a prompt on a serving engine, term by term.
//
// A step makes one token for each running sequence: it reads the weights (of experts those that some token is
// routed to), reads the cache, moves the hidden vectors, and cannot be shorter than its kernels' launches and
// gaps. A prompt is bound by arithmetic. An engine computes prompts between the steps of answers that run,
// which is what makes tokens late in aggregated serving.
//
// Worked value: 70 B in fp8 on one H200 reads 70 GB in 16.7 ms at 0.874 of 4.8 TB/s.
//
// Not here: the constants (catalog/serving_time.json), all-reduces (library_collectives.h), memory.
#pragma once

#include "formula/formula.h"

namespace shardplan {

namespace decode {
inline constexpr double kLn2 = 0.6931471805599453;  // log2 to the natural logarithm
// FLOP of one parameter and token in a forward pass: a multiply and an add.
inline constexpr double kForward = 2;
}  // namespace decode

struct ReadTime {
  static constexpr FormulaInfo info{
      "serving.read",
      "reading weights or a cache in a decode step",
      {"pope2022", "sec. 2, memory cost of loading weights and the KV cache"},
      "each byte is read once a step; the share is that of kernels as they are"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> size;
    BytesPerSecond<N> bandwidth;
    Ratio<N> share;
  };
  static constexpr std::array<std::string_view, 3> symbols{"S", "W", "e"};
  static constexpr std::array<std::string_view, 3> inputs{"bytes read on a GPU", "HBM bandwidth",
                                                          "share of it that is reached"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return in.size / (in.share * in.bandwidth);
  }
  static constexpr std::array examples{Example<ReadTime>{
      {gigabytes(70), terabytes_per_s(4.8), ratio(0.875)}, 0.016666666666666666, "70 GB at 4.2 TB/s"}};
};

struct ProductsTime {
  static constexpr FormulaInfo info{
      "serving.products",
      "matrix products of a step or a prompt",
      {"pope2022", "sec. 2, compute costs: 2 FLOP a parameter and token"},
      "work divides evenly over the GPUs; one share of the peak for all shapes"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> parameters;
    FlopsPerSecond<N> peak;
    Ratio<N> share;
  };
  static constexpr std::array<std::string_view, 4> symbols{"n", "Psi", "C", "e"};
  static constexpr std::array<std::string_view, 4> inputs{"tokens", "parameters of a GPU that a token uses",
                                                          "dense peak", "share of it that is reached"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return Flops<N>{N(decode::kForward)} * in.tokens * in.parameters / (in.share * in.peak);
  }
  static constexpr std::array examples{
      Example<ProductsTime>{{ratio(1000), ratio(70e9), teraflops_per_s(1979), ratio(0.8)},
                            0.08842849924204144,
                            "1000 tokens x 140 GFLOP / (0.8 x 1979 TFLOP/s)"}};
};

struct PromptScores {
  static constexpr FormulaInfo info{"serving.prompt_scores",
                                    "attention of a prompt over itself",
                                    {"dao2023", "sec. 4.1: FLOP count, halved when causal"},
                                    "heads divide evenly; a query meets half of the prompt, or its window"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> prompt;
    Ratio<N> keys;
    Ratio<N> tensor;
    FlopsPerSecond<N> peak;
    Ratio<N> share;
  };
  static constexpr std::array<std::string_view, 5> symbols{"s", "k", "t", "C", "e"};
  static constexpr std::array<std::string_view, 5> inputs{
      "tokens of the prompt", "keys a query meets on average x query-key plus value dimensions, all layers",
      "tensor-parallel degree", "16-bit peak", "share of it that is reached"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return Flops<N>{N(decode::kForward)} * in.prompt * in.keys / (in.tensor * in.share * in.peak);
  }
  static constexpr std::array examples{Example<PromptScores>{
      {ratio(8192), ratio(4096.0 * 80 * 16384), ratio(8), teraflops_per_s(989), ratio(0.5)},
      0.022234815526309404,
      "2 x 8192 x 4096 x 80 layers x 64 heads x 256 / (8 x 0.5 x 989 TFLOP/s)",
      1e-8}};
};

struct DistinctExperts {
  static constexpr FormulaInfo info{"serving.distinct_experts",
                                    "share of the experts that some token of a step is routed to",
                                    {"shardplan", "1 - (1 - k / E)^n: each token leaves an expert out alone"},
                                    "routing is uniform and tokens choose independently; fewer when skewed"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> experts;
    Ratio<N> top_k;
    Ratio<N> tokens;
  };
  static constexpr std::array<std::string_view, 3> symbols{"E", "k", "n"};
  static constexpr std::array<std::string_view, 3> inputs{"experts of a layer", "experts a token goes to",
                                                          "tokens of the step"};
  template <class N>
  static Ratio<N> eval(const In<N>& in) {
    const Ratio<N> one(N(1.0));
    const Ratio<N> none = exp(Ratio<N>(N(decode::kLn2)) * in.tokens * log2(one - in.top_k / in.experts));
    return one - none;
  }
  static constexpr std::array examples{
      Example<DistinctExperts>{{ratio(256), ratio(8), ratio(1)}, 0.03125, "one token: 8 of 256"},
      Example<DistinctExperts>{
          {ratio(128), ratio(64), ratio(2)}, 0.75, "two tokens, half the experts each: three quarters"}};
};

struct HiddenTraffic {
  static constexpr FormulaInfo info{
      "serving.hidden_traffic",
      "norms, residuals and activations: passes over the hidden vectors",
      {"shardplan", "bytes of a token's hidden vector, read or written n times a layer"},
      "not divided over the tensor-parallel group; 16 bits"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> layers;
    Ratio<N> hidden;
    Bytes<N> element;
    Ratio<N> passes;
    BytesPerSecond<N> bandwidth;
  };
  static constexpr std::array<std::string_view, 6> symbols{"n", "L", "h", "b", "p", "W"};
  static constexpr std::array<std::string_view, 6> inputs{
      "tokens",       "layers", "hidden size", "bytes of an element", "reads and writes of it in a layer",
      "HBM bandwidth"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return in.tokens * in.layers * in.hidden * in.element * in.passes / in.bandwidth;
  }
  static constexpr std::array examples{
      Example<HiddenTraffic>{{ratio(64), ratio(80), ratio(8192), bytes(2), ratio(20), terabytes_per_s(4.8)},
                             0.0003495253333333333,
                             "64 x 80 x 16 KiB x 20 / 4.8 TB/s"}};
};

struct KernelFloor {
  static constexpr FormulaInfo info{"serving.kernel_floor",
                                    "what the kernels of all layers take however little they move",
                                    {"shardplan", "a time a layer, more where it routes tokens to experts"},
                                    "steps replay captured graphs; no step is shorter"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> layers;
    Seconds<N> layer;
    Ratio<N> routed_layers;
    Seconds<N> routed_layer;
  };
  static constexpr std::array<std::string_view, 4> symbols{"L", "t_L", "L_e", "t_e"};
  static constexpr std::array<std::string_view, 4> inputs{"layers", "floor of a layer", "layers with experts",
                                                          "more for a layer with experts"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return in.layers * in.layer + in.routed_layers * in.routed_layer;
  }
  static constexpr std::array examples{Example<KernelFloor>{
      {ratio(61), microseconds(40), ratio(58), microseconds(50)}, 0.00534, "61 x 40 us + 58 x 50 us"}};
};

struct ExpertExchange {
  static constexpr FormulaInfo info{"serving.expert_exchange",
                                    "tokens to the ranks of their experts and back",
                                    {"deepep", "dispatch in 8 bits, combine in 16"},
                                    "every choice of a token crosses a link; nothing is overlapped"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> tokens;
    Ratio<N> top_k;
    Ratio<N> hidden;
    Bytes<N> element;
    Ratio<N> layers;
    BytesPerSecond<N> bandwidth;
    Ratio<N> share;
  };
  static constexpr std::array<std::string_view, 7> symbols{"n", "k", "h", "b", "L_e", "B", "e"};
  static constexpr std::array<std::string_view, 7> inputs{"tokens of a rank",
                                                          "experts a token goes to",
                                                          "hidden size",
                                                          "bytes of an element, there and back",
                                                          "layers with experts",
                                                          "bandwidth of the links",
                                                          "share of it that is reached"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return in.tokens * in.top_k * in.hidden * in.element * in.layers / (in.share * in.bandwidth);
  }
  static constexpr std::array examples{Example<ExpertExchange>{
      {ratio(128), ratio(8), ratio(7168), bytes(3), ratio(58), gigabytes_per_s(400), ratio(0.5)},
      0.00638582784,
      "128 x 8 x 7168 x 3 bytes x 58 / 200 GB/s",
      1e-9}};
};

struct PromptsBeside {
  static constexpr FormulaInfo info{
      "serving.prompts_beside",
      "what prompts add to a token where they are computed beside running answers",
      {"shardplan", "closed loop: B = X (TTFT + o TPOT), TPOT = T / (1 - X T_p), solved for X"},
      "as many requests as run are there at once, each is followed by the next; one's own prompt is no delay"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> batch;
    Ratio<N> output;
    Seconds<N> prompt;
    Seconds<N> step;
  };
  static constexpr std::array<std::string_view, 4> symbols{"B", "o", "T_p", "T"};
  static constexpr std::array<std::string_view, 4> inputs{"requests at once", "output tokens of each",
                                                          "time of a prompt", "time of a step"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    const Ratio<N> one(N(1.0));
    return (in.batch - one) * in.prompt * in.step / (in.prompt + in.output * in.step);
  }
  static constexpr std::array examples{
      Example<PromptsBeside>{{ratio(11), ratio(100), milliseconds(100), milliseconds(10)},
                             0.00909090909090909,
                             "10 x 100 ms x 10 ms / (100 ms + 1 s)"}};
};

struct PromptsFirst {
  static constexpr FormulaInfo info{
      "serving.prompts_first",
      "what prompts add to a token where all that wait are computed before answers go on",
      {"shardplan", "answers of one length end together: each waits for half of the others' prompts"},
      "closed loop, outputs of one length"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> batch;
    Ratio<N> output;
    Seconds<N> prompt;
  };
  static constexpr std::array<std::string_view, 3> symbols{"B", "o", "T_p"};
  static constexpr std::array<std::string_view, 3> inputs{"requests at once", "output tokens of each",
                                                          "time of a prompt"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    const Ratio<N> one(N(1.0)), two(N(2.0));
    return (in.batch - one) / two * in.prompt / in.output;
  }
  static constexpr std::array examples{
      Example<PromptsFirst>{{ratio(11), ratio(100), milliseconds(100)}, 0.005, "5 x 100 ms / 100"}};
};

struct DraftTime {
  static constexpr FormulaInfo info{
      "serving.drafts",
      "guessing tokens ahead",
      {"shardplan", "each guess runs one layer of the model's kind, one after the other"},
      "a head of one layer (MTP, EAGLE) guesses; its time is a layer's share of a step"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> guesses;
    Seconds<N> step;
    Ratio<N> layers;
  };
  static constexpr std::array<std::string_view, 3> symbols{"n", "T", "L"};
  static constexpr std::array<std::string_view, 3> inputs{"tokens guessed", "a step without guesses",
                                                          "layers"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return in.guesses * in.step / in.layers;
  }
  static constexpr std::array examples{
      Example<DraftTime>{{ratio(3), milliseconds(20), ratio(60)}, 0.001, "three sixtieths of 20 ms"}};
};

struct RequestRate {
  static constexpr FormulaInfo info{
      "serving.request_rate",
      "requests that a replica finishes in a second",
      {"little1961", "L = lambda W, solved for lambda"},
      "as many requests as run are always there; each waits for its first token, "
      "then makes its answer"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> batch;
    Seconds<N> first;
    Ratio<N> output;
    Seconds<N> token;
  };
  static constexpr std::array<std::string_view, 4> symbols{"B", "TTFT", "o", "TPOT"};
  static constexpr std::array<std::string_view, 4> inputs{"requests at once", "time to the first token",
                                                          "output tokens of each", "time of a token"};
  template <class N>
  static constexpr PerSecond<N> eval(const In<N>& in) {
    return in.batch / (in.first + in.output * in.token);
  }
  static constexpr std::array examples{
      Example<RequestRate>{{ratio(50), milliseconds(500), ratio(200), milliseconds(10)}, 20.0, "50 / 2.5 s"}};
};

struct PromptQueue {
  static constexpr FormulaInfo info{
      "serving.prompt_queue",
      "wait of a prompt for those before it, on average",
      {"kingman1961", "heavy traffic: u / (2 (1 - u)) times the service, which has one length"},
      "prompts arrive at random, are as long as the mean and computed one after the other"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> busy;
    Seconds<N> prompt;
  };
  static constexpr std::array<std::string_view, 2> symbols{"u", "T_p"};
  static constexpr std::array<std::string_view, 2> inputs{"share of the time that prompts take",
                                                          "time of a prompt"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    const Ratio<N> one(N(1.0)), two(N(2.0));
    return in.busy / (two * (one - in.busy)) * in.prompt;
  }
  static constexpr std::array examples{
      Example<PromptQueue>{{ratio(0.5), milliseconds(100)}, 0.05, "0.5 / (2 x 0.5) x 100 ms"}};
};

struct LatePromptQueue {
  static constexpr FormulaInfo info{
      "serving.prompt_queue.late",
      "wait of a prompt that so many in a hundred do not exceed",
      {"kingman1961", "heavy traffic: the wait is exponential, a share u waits at all"},
      "as for the mean; ln(u / share beyond) means, no less than none"};
  template <class N>
  struct In {
    using Number = N;
    Ratio<N> busy;
    Seconds<N> prompt;
    Ratio<N> beyond;
  };
  static constexpr std::array<std::string_view, 3> symbols{"u", "T_p", "q"};
  static constexpr std::array<std::string_view, 3> inputs{
      "share of the time that prompts take", "time of a prompt", "share of the requests that wait longer"};
  template <class N>
  static Seconds<N> eval(const In<N>& in) {
    const Ratio<N> one{N(1.0)}, two{N(2.0)}, ln2{N(decode::kLn2)}, none{N(0.0)};
    const Ratio<N> means = max(none, ln2 * log2(in.busy / in.beyond));
    // A share u waits at all, and those wait 1 / (2 (1 - u)) prompts on average.
    return means / (two * (one - in.busy)) * in.prompt;
  }
  static constexpr std::array examples{
      Example<LatePromptQueue>{{ratio(0.5), milliseconds(100), ratio(0.5)}, 0, "half do not wait"},
      Example<LatePromptQueue>{
          {ratio(0.5), milliseconds(100), ratio(0.0625)}, 0.20794415416798356, "ln 8 = 2.08 times 100 ms"}};
};

struct LatePrompts {
  static constexpr FormulaInfo info{
      "serving.prompts_late",
      "what prompts add to a token of a request that so many in a hundred do not exceed",
      {"shardplan", "prompts that come during an answer are Poisson: mean m, z deviations of sqrt(m)"},
      "requests come at random; every answer and prompt is as long as the mean"};
  template <class N>
  struct In {
    using Number = N;
    Seconds<N> mean;
    Ratio<N> output;
    Seconds<N> prompt;
    Ratio<N> deviations;
  };
  static constexpr std::array<std::string_view, 4> symbols{"t", "o", "T_p", "z"};
  static constexpr std::array<std::string_view, 4> inputs{
      "what prompts add to a token on average", "output tokens", "time of a prompt",
      "deviations of the normal distribution up to that share"};
  template <class N>
  static Seconds<N> eval(const In<N>& in) {
    const Ratio<N> met = in.mean * in.output / in.prompt;
    return (met + in.deviations * sqrt(met)) * in.prompt / in.output;
  }
  static constexpr std::array examples{
      Example<LatePrompts>{{milliseconds(9), ratio(100), milliseconds(100), ratio(2)},
                           0.015,
                           "9 prompts of 100 ms on average, 15 at two deviations, over 100 tokens"}};
};

struct CacheTransfer {
  static constexpr FormulaInfo info{"serving.cache_transfer",
                                    "sending the cache of a prompt to the replica that decodes",
                                    {"zhong2024", "sec. 3.3: KV cache transfer of disaggregated serving"},
                                    "after the whole prompt; each GPU sends its part over its own link"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> cache;
    BytesPerSecond<N> bandwidth;
    Seconds<N> latency;
  };
  static constexpr std::array<std::string_view, 3> symbols{"k_r", "B", "a"};
  static constexpr std::array<std::string_view, 3> inputs{"cache of the prompt on a GPU that computed it",
                                                          "bandwidth of the link", "latency"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return in.latency + in.cache / in.bandwidth;
  }
  static constexpr std::array examples{Example<CacheTransfer>{
      {megabytes(500), gigabytes_per_s(50), microseconds(15)}, 0.010015, "10 ms and 15 us"}};
};

}  // namespace shardplan
