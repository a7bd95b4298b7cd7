// How fast plans are judged, and how long whole searches take: the main job, and questions as large as those
// that clusters are bought for.
#include <benchmark/benchmark.h>

#include "estimate/plan_evaluator.h"
#include "import/catalog.h"
#include "import/question.h"
#include "search/search.h"

namespace shardplan {
namespace {

Question asked(const char* model, const char* gpu, const char* gpus, const char* sequence,
               const char* batch) {
  QuestionSpec spec;
  spec.model = model;
  spec.gpu = gpu;
  spec.gpus = gpus;
  spec.seq = sequence;
  spec.global_batch = batch;
  return build_question(spec, catalog()).value();
}

Question llama3_70b(const char* gpus) { return asked("llama3-70b", "h100-sxm", gpus, "8192", "1024"); }
Question gpt3_175b(const char* gpus) { return asked("gpt3-175b", "a100-80gb-sxm", gpus, "2048", "1536"); }
Question llama3_405b(const char* gpus) { return asked("llama3-405b", "h100-sxm", gpus, "8192", "2048"); }
Question deepseek_v3(const char* gpus) { return asked("deepseek-v3", "h800", gpus, "4096", "15360"); }
/// 1.6 T parameters: Kimi K2's layers, 96 of them.
Question mixture_1_6t(const char* gpus) {
  return asked(SHARDPLAN_SOURCE_DIR "/examples/mixture-1.6t/config.json", "gb200", gpus, "4096", "16384");
}

/// Memory and step time of every usual plan. Of several threads each takes every so-many-th layout.
void judge_plans(benchmark::State& state, Question (*ask)(const char*), const char* gpus) {
  const Question question = ask(gpus);
  const Estimator estimator(question);
  const std::vector<Plan> layouts = estimator.space().layouts({});
  const auto threads = static_cast<std::size_t>(state.threads());
  std::int64_t plans = 0;
  for (auto _ : state) {
    PlanEvaluator judge(estimator);
    for (auto i = static_cast<std::size_t>(state.thread_index()); i < layouts.size(); i += threads) {
      plans += estimator.space().for_each_of(layouts[i], {}, [&](const Plan& plan) {
        int stage = 0;
        benchmark::DoNotOptimize(judge.fullest_memory(plan, stage));
        benchmark::DoNotOptimize(judge.time(plan).total());
      });
    }
  }
  state.counters["judged/s"] = benchmark::Counter(static_cast<double>(plans), benchmark::Counter::kIsRate);
}
#define SHARDPLAN_JUDGE(ask, gpus)                            \
  BENCHMARK_CAPTURE(judge_plans, ask##_on_##gpus, ask, #gpus) \
      ->Unit(benchmark::kMillisecond)                         \
      ->UseRealTime()                                         \
      ->ThreadRange(1, 2)
SHARDPLAN_JUDGE(gpt3_175b, 4096);
SHARDPLAN_JUDGE(deepseek_v3, 2048);
#undef SHARDPLAN_JUDGE

/// To the best plan and the census, on all cores; of the usual plans or of all that the engine can do. Most
/// of the plans covered are so by a bound: those judged are counted apart.
void search_plans(benchmark::State& state, Question (*ask)(const char*), const char* gpus, bool whole_space) {
  Question question = ask(gpus);
  question.whole_space = whole_space;
  const Estimator estimator(question);
  std::int64_t plans = 0;
  for (auto _ : state) {
    const SearchResult result = search(estimator, {});
    benchmark::DoNotOptimize(result.best);
    plans += result.census.considered;
    state.counters["judged"] = static_cast<double>(result.census.judged());
  }
  state.counters["covered/s"] = benchmark::Counter(static_cast<double>(plans), benchmark::Counter::kIsRate);
}
constexpr bool usual = false, whole = true;  // as they are named in the results
#define SHARDPLAN_SEARCH(ask, gpus, space)                                      \
  BENCHMARK_CAPTURE(search_plans, ask##_on_##gpus##_##space, ask, #gpus, space) \
      ->Unit(benchmark::kMillisecond)                                           \
      ->UseRealTime()
SHARDPLAN_SEARCH(llama3_70b, 64, usual);
SHARDPLAN_SEARCH(llama3_70b, 1024, usual);
// Each twice as many GPUs as the one before.
SHARDPLAN_SEARCH(gpt3_175b, 1024, usual);
SHARDPLAN_SEARCH(gpt3_175b, 2048, usual);
SHARDPLAN_SEARCH(gpt3_175b, 4096, usual);
SHARDPLAN_SEARCH(llama3_405b, 4096, usual);
SHARDPLAN_SEARCH(llama3_405b, 8192, usual);
SHARDPLAN_SEARCH(llama3_405b, 16384, usual);
SHARDPLAN_SEARCH(deepseek_v3, 1024, usual);
SHARDPLAN_SEARCH(deepseek_v3, 2048, usual);
SHARDPLAN_SEARCH(deepseek_v3, 4096, usual);
SHARDPLAN_SEARCH(mixture_1_6t, 8192, usual);
SHARDPLAN_SEARCH(mixture_1_6t, 16384, usual);
SHARDPLAN_SEARCH(mixture_1_6t, 32768, usual);
SHARDPLAN_SEARCH(gpt3_175b, 2048, whole);
SHARDPLAN_SEARCH(gpt3_175b, 4096, whole);
SHARDPLAN_SEARCH(llama3_405b, 8192, whole);
SHARDPLAN_SEARCH(llama3_405b, 16384, whole);
SHARDPLAN_SEARCH(deepseek_v3, 1024, whole);
SHARDPLAN_SEARCH(deepseek_v3, 2048, whole);
SHARDPLAN_SEARCH(mixture_1_6t, 16384, whole);
SHARDPLAN_SEARCH(mixture_1_6t, 32768, whole);
#undef SHARDPLAN_SEARCH

void estimate_one_plan(benchmark::State& state) {
  const Question question = llama3_70b("64");
  const Estimator estimator(question);
  const Plan plan = search(estimator, {}).best->plan;
  for (auto _ : state) benchmark::DoNotOptimize(estimator.estimate(plan));
}
BENCHMARK(estimate_one_plan);

}  // namespace
}  // namespace shardplan
