// How long a whole search takes: llama3-70b on 64 H100, the main job, and one plan by itself.
#include <benchmark/benchmark.h>

#include "import/catalog.h"
#include "import/question.h"
#include "search/search.h"

namespace shardplan {
namespace {

Question main_job(const char* gpus) {
  QuestionSpec spec;
  spec.model = "llama3-70b";
  spec.gpu = "h100-sxm";
  spec.gpus = gpus;
  return build_question(spec, catalog()).value();
}

void search_70b(benchmark::State& state, const char* gpus) {
  const Question question = main_job(gpus);
  const Estimator estimator(question);
  std::int64_t plans = 0;
  for (auto _ : state) {
    const SearchResult result = search(estimator, {});
    benchmark::DoNotOptimize(result.best);
    plans += result.census.considered;
  }
  state.counters["plans/s"] = benchmark::Counter(static_cast<double>(plans), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(search_70b, on_64, "64")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(search_70b, on_1024, "1024")->Unit(benchmark::kMillisecond);

void estimate_one_plan(benchmark::State& state) {
  const Question question = main_job("64");
  const Estimator estimator(question);
  const Plan plan = search(estimator, {}).best->plan;
  for (auto _ : state) benchmark::DoNotOptimize(estimator.estimate(plan));
}
BENCHMARK(estimate_one_plan);

}  // namespace
}  // namespace shardplan
