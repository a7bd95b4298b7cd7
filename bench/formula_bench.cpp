// What one formula costs in its two readings: the double of the search must be as fast as the bare
// expression, and the trace of the explanation may be slower by orders, since only a few plans are explained.
#include <benchmark/benchmark.h>

#include "formula/formula.h"

namespace shardplan {
namespace {

struct Transfer {
  static constexpr FormulaInfo info{
      "bench.transfer", "time of one message", {"hockney1994", "eq. 1"}, "one message at a time"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> size;
    BytesPerSecond<N> bandwidth;
    Seconds<N> latency;
  };
  static constexpr std::array symbols{"S", "B", "a"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return in.latency + in.size / in.bandwidth;
  }
};

void bare_expression(benchmark::State& state) {
  struct {
    double size, bandwidth, latency;
  } in{1e9, 50e9, 15e-6};
  for (auto _ : state) {
    benchmark::DoNotOptimize(in);
    benchmark::DoNotOptimize(in.latency + in.size / in.bandwidth);
  }
}
BENCHMARK(bare_expression);

void formula_as_double(benchmark::State& state) {
  Transfer::In<double> in{gigabytes(1), gigabytes_per_s(50), microseconds(15)};
  for (auto _ : state) {
    benchmark::DoNotOptimize(in);
    benchmark::DoNotOptimize(call<Transfer>(in));
  }
}
BENCHMARK(formula_as_double);

void formula_as_trace(benchmark::State& state) {
  const Transfer::In<Traced> in{Bytes<Traced>(Traced(1e9)), BytesPerSecond<Traced>(Traced(50e9)),
                                Seconds<Traced>(Traced(15e-6))};
  for (auto _ : state) benchmark::DoNotOptimize(call<Transfer>(in));
}
BENCHMARK(formula_as_trace);

}  // namespace
}  // namespace shardplan
