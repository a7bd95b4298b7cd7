// How long a search for the best way to serve takes, every split and batch and the front, and the whole
// answer with the searches that its thresholds repeat.
#include <benchmark/benchmark.h>

#include "import/flag_list.h"
#include "reason/serve_answer.h"

namespace shardplan {
namespace {

ServeQuestion asked(const char* model, const char* gpus, const char* mode) {
  return serve_question_from_flags({{"--model", model},
                                    {"--gpu", "h200"},
                                    {"--gpus", gpus},
                                    {"--input", "4000"},
                                    {"--output", "1000"},
                                    {"--tpot-ms", "50"},
                                    {"--ttft-ms", "3000"},
                                    {"--mode", mode}},
                                   catalog())
      .value();
}

void search_serving_on_512(benchmark::State& state, const char* model, const char* mode) {
  const ServeQuestion question = asked(model, "512", mode);
  for (auto _ : state) {
    const ServeSearch found = search_serving(question);
    benchmark::DoNotOptimize(found.chosen);
    state.counters["judged"] = static_cast<double>(found.judged);
  }
}
void answer_serving_on_512(benchmark::State& state, const char* model, const char* mode) {
  const ServeQuestion question = asked(model, "512", mode);
  for (auto _ : state) {
    const ServeAnswer answer = serve_answer(question, catalog().serving_evidence);
    benchmark::DoNotOptimize(answer.findings.thresholds.size());
  }
}
#define SHARDPLAN_SERVE(name, model, mode)                              \
  BENCHMARK_CAPTURE(search_serving_on_512, name##_##mode, model, #mode) \
      ->Unit(benchmark::kMillisecond)                                   \
      ->UseRealTime();                                                  \
  BENCHMARK_CAPTURE(answer_serving_on_512, name##_##mode, model, #mode) \
      ->Unit(benchmark::kMillisecond)                                   \
      ->UseRealTime()
SHARDPLAN_SERVE(llama3_70b, "llama3-70b", aggregated);
SHARDPLAN_SERVE(deepseek_v3, "deepseek-v3", aggregated);
SHARDPLAN_SERVE(llama3_70b, "llama3-70b", either);
SHARDPLAN_SERVE(deepseek_v3, "deepseek-v3", either);
#undef SHARDPLAN_SERVE

}  // namespace
}  // namespace shardplan
