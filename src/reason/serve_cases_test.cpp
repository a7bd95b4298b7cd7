// Users' cases of serving: what must fit and what must not, and what an engine printed of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/flag_list.h"
#include "reason/serve_answer.h"

namespace shardplan {
namespace {

using testing::HasSubstr;

ServeAnswer answer_of(const FlagList& flags) {
  return serve_answer(serve_question_from_flags(flags, catalog()).value(), catalog().serving_evidence);
}

FlagList one_h100(const char* model, const FlagList& more = {}) {
  FlagList flags{{"--model", model}, {"--gpu", "h100-sxm"}, {"--gpus", "1"}, {"--seq", "2048"}};
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

double gib(Bytes<> size) { return size.raw() / gibibytes(1).raw(); }

TEST(ServeCases, SeventyBillionInFp8DoNotServeOnOneH100) {
  const ServeAnswer a = answer_of(one_h100("llama3-70b", {{"--precision", "fp8"}}));
  EXPECT_FALSE(a.feasible());
  EXPECT_EQ(a.findings.binding.kind, "weights");
  EXPECT_THAT(a.engine.error, HasSubstr("No available memory for the cache blocks"));
}

TEST(ServeCases, DeepSeekV3DoesNotServeOnEightCardsOf80) {
  const ServeAnswer a = answer_of({{"--model", "deepseek-v3"}, {"--gpu", "h100-sxm"}, {"--gpus", "8"}});
  EXPECT_FALSE(a.feasible());
  EXPECT_EQ(a.findings.binding.kind, "weights");
  EXPECT_TRUE(answer_of({{"--model", "deepseek-v3"}, {"--gpu", "h200"}, {"--gpus", "8"}}).feasible());
}

TEST(ServeCases, GptOss120bStartsOnOneH100WithMoreOfItsMemory) {
  // vLLM at 0.9: -0.6 GiB of cache; at 0.95: 3.33 GiB.
  const ServeAnswer nine = answer_of(one_h100("gpt-oss-120b"));
  EXPECT_FALSE(nine.feasible());
  EXPECT_NEAR(gib(nine.shown().cost.room.pool), -0.6, 0.6);
  ASSERT_FALSE(nine.engine.fixes.empty());
  EXPECT_THAT(nine.engine.fixes[0].flag, HasSubstr("--gpu-memory-utilization 0.9"));
  const ServeAnswer more = answer_of(one_h100("gpt-oss-120b", {{"--memory-share", "0.95"}}));
  EXPECT_TRUE(more.feasible());
  EXPECT_NEAR(gib(more.shown().cost.room.pool), 3.33, 0.6);
  // Every fix that is named starts it.
  for (const EngineFix& fix : nine.engine.fixes) {
    if (fix.flag.starts_with("--max-num-seqs ")) {
      const std::string requests = fix.flag.substr(std::string("--max-num-seqs ").size());
      EXPECT_TRUE(answer_of(one_h100("gpt-oss-120b", {{"--max-requests", requests}})).feasible());
    }
  }
}

TEST(ServeCases, GptOss20bServesOnOneH100) {
  const ServeAnswer a = answer_of(one_h100("gpt-oss-20b"));
  EXPECT_TRUE(a.feasible());
  EXPECT_NEAR(gib(a.shown().cost.room.pool), 50.28, 1.0);
}

TEST(ServeCases, TheEnginesSentenceIsWhatItPrinted) {
  // Llama-3.1-8B bf16 on an A100 of 40 GB: "GPU KV cache size: 163,168 tokens" of 19.92 GiB.
  const ServeAnswer a =
      answer_of({{"--model", "llama3-8b"}, {"--gpu", "h100-sxm"}, {"--gpus", "1"}, {"--seq", "32768"}});
  ASSERT_EQ(a.engine.sentences.size(), 2U);
  const double tokens = a.shown().cost.room.pool.raw() / 131072;
  EXPECT_NEAR(a.shown().cost.room.tokens.raw(), tokens, 16);
  EXPECT_THAT(a.engine.sentences[0], HasSubstr("GPU KV cache size: "));
  EXPECT_THAT(a.engine.sentences[1], HasSubstr("Maximum concurrency for 32,768 tokens per request: "));
  EXPECT_TRUE(a.engine.error.empty());
}

TEST(ServeCases, ARequestThatIsTooLongNamesTheLongestThatIsNot) {
  const FlagList card{{"--model", "llama3-8b"}, {"--gpu", "rtx-4090"}, {"--gpus", "1"}};
  FlagList flags = card;
  flags.emplace_back("--seq", "131072");
  const ServeAnswer a = answer_of(flags);
  EXPECT_THAT(a.engine.error, HasSubstr("To serve at least one request"));
  std::string length;
  for (const EngineFix& fix : a.engine.fixes)
    if (fix.flag.starts_with("--max-model-len "))
      length = fix.flag.substr(std::string("--max-model-len ").size());
  ASSERT_FALSE(length.empty());
  FlagList shorter = card;
  shorter.emplace_back("--seq", length);
  EXPECT_TRUE(answer_of(shorter).engine.error.empty());
}

TEST(ServeCases, WhatWasNotMeasuredIsSaid) {
  EXPECT_GT(answer_of(one_h100("gpt-oss-20b")).domain.runs, 0);
  const ServeAnswer outside =
      answer_of({{"--model", "gpt-oss-120b"}, {"--gpu", "mi300x"}, {"--gpus", "8"}, {"--engine", "sglang"}});
  EXPECT_EQ(outside.domain.runs, 0);
  EXPECT_THAT(outside.domain.words, HasSubstr("outside the measured domain: mixtures on mi300x with sglang"));
}

/// What `then` says is what a search finds at the value, and just before it the answer is the same.
TEST(ServeCases, ThresholdsOfTheSearchTurnWhereTheySay) {
  const FlagList base{{"--model", "llama3-70b"}, {"--gpu", "h200"},   {"--gpus", "16"}, {"--input", "1000"},
                      {"--output", "500"},       {"--tpot-ms", "25"}, {"--rate", "12"}};
  const ServeQuestion q = serve_question_from_flags(base, catalog()).value();
  const ServeAnswer a = serve_answer(q);
  int seen = 0;
  for (const Threshold& t : a.findings.thresholds) {
    const auto at = [&](double value) {
      ServeQuestion other = q;
      if (t.parameter == "hbm_bandwidth")
        other.question.cluster.device.memory_bandwidth.value = bytes_per_s(value);
      if (t.parameter == "hbm") {
        // As the flag does: the engine takes its own batch at that memory.
        other.question.cluster.device.memory_reported.value = bytes(value);
        other.limits.requests = default_limits(other.memory, other.question.cluster.device).requests;
      }
      if (t.parameter == "rate") other.rate = per_s(value);
      const ServePlan p = search_best(other);
      return std::tuple(p.good(), p.split.tensor, p.split.pipeline, p.gpus());
    };
    if (t.parameter != "hbm_bandwidth" && t.parameter != "hbm" && t.parameter != "rate") continue;
    const double before = t.threshold + (t.current - t.threshold) * 1e-3;
    EXPECT_EQ(at(before), at(t.current)) << t.parameter;
    EXPECT_NE(at(t.threshold), at(t.current)) << t.parameter;
    ++seen;
  }
  EXPECT_GE(seen, 2);
}

}  // namespace
}  // namespace shardplan
