#include "import/serve_question.h"

#include <gmock/gmock.h>

#include "import/flag_list.h"

namespace shardplan {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::string code_at(const FlagList& flags) {
  const auto q = serve_question_from_flags(flags, catalog());
  return q ? "" : q.error().where + " " + q.error().code;
}

TEST(ServeQuestion, ReadsTheLoadAndSaysWhatItTook) {
  const FlagList told{{"--preset", "llama3-8b"}, {"--tp", "2"},       {"--seq", "8192"},
                      {"--batch", "16"},         {"--tpot-ms", "25"}, {"--gpu", "h100"}};
  const ServeQuestion q = serve_question_from_flags(told, catalog()).value();
  EXPECT_EQ(q.batch, 16);
  EXPECT_EQ(q.context(), 8192);
  EXPECT_EQ(q.tpot_limit, milliseconds(25));
  EXPECT_EQ(q.question.cluster.gpus, 2);  // what the told degree needs
  const ServeQuestion bare =
      serve_question_from_flags({{"--preset", "llama3-8b"}, {"--gpu", "h100"}}, catalog()).value();
  EXPECT_EQ(bare.question.cluster.gpus, 8);  // its usual node: every degree is tried
  EXPECT_FALSE(bare.tpot_limit);
  EXPECT_THAT(bare.question.assumed, Contains(HasSubstr("batch 1")));
  EXPECT_THAT(bare.question.assumed, Contains(HasSubstr("prompts of 4096 tokens")));
}

TEST(ServeQuestion, RefusesWhatIsWrongOrNotModelled) {
  const auto with = [](FlagList more) {
    more.emplace_back("--preset", "llama3-8b");
    return code_at(more);
  };
  EXPECT_EQ(with({{"--batch", "0"}}), "--batch out_of_range");
  EXPECT_EQ(with({{"--batch", "1.5"}}), "--batch bad_value");
  EXPECT_EQ(with({{"--tpot-ms", "0"}}), "--tpot-ms out_of_range");
  EXPECT_EQ(with({{"--tpot-ms", "fast"}}), "--tpot-ms bad_value");
  EXPECT_EQ(with({{"--seq", "0"}}), "--seq out_of_range");
  EXPECT_EQ(with({{"--tp", "0"}}), "--tp out_of_range");
  EXPECT_EQ(with({{"--pp", "0"}}), "--pp out_of_range");
  EXPECT_EQ(with({{"--zero", "3"}}), "--zero unknown_flag");
  EXPECT_EQ(with({{"--engine", "vlm"}}), "--engine unknown_name");
  EXPECT_EQ(with({{"--precision", "fp9"}}), "--precision unknown_name");
  EXPECT_EQ(with({{"--kv-precision", "int3"}}), "--kv-precision unknown_name");
  EXPECT_EQ(with({{"--percentile", "100"}, {"--output", "10"}}), "--percentile out_of_range");
  EXPECT_EQ(with({{"--rate", "5"}}), "--output missing_flag");
  EXPECT_EQ(with({{"--mode", "disaggregated"}}), "--output missing_flag");
  EXPECT_EQ(with({{"--mode", "apart"}}), "--mode unknown_name");
  EXPECT_EQ(with({{"--objective", "gpus"}}), "--objective missing_flag");
  EXPECT_EQ(with({{"--seq", "100"}, {"--input", "90"}, {"--output", "20"}}), "--seq conflict");
  EXPECT_EQ(with({{"--draft-tokens", "3"}}), "--accepted missing_flag");
  EXPECT_EQ(with({{"--draft-tokens", "3"}, {"--accepted", "5"}}), "--accepted out_of_range");
  EXPECT_EQ(with({{"--memory-share", "0.9"}}),
            "--memory-share conflict");  // the course's cards have no engine
}

TEST(ServeQuestion, EveryKindOfDecoderIsRead) {
  for (const char* name : {"mixtral-8x7b", "deepseek-v3", "gemma-2-27b", "qwen3-next-80b-a3b", "gpt-oss-20b",
                           "nemotron-h-56b", "llama4-scout"})
    EXPECT_EQ(code_at({{"--preset", name}, {"--gpu", "h200"}}), "") << name;
}

ServeQuestion question_of(FlagList more) {
  more.insert(more.begin(), {{"--gpu", "h100"}});
  return serve_question_from_flags(more, catalog()).value();
}

TEST(ServeQuestion, AKnownGpuMeansAnEngineAndTheCheckpointItsFormat) {
  const ServeQuestion q = question_of({{"--preset", "gpt-oss-120b"}});
  EXPECT_EQ(q.memory.name, "vllm");
  EXPECT_EQ(q.format.expert_bits, 4.25);
  EXPECT_EQ(q.format.attention_bits, 16);
  EXPECT_EQ(q.limits.requests.value, ratio(1024));
  EXPECT_THAT(q.question.assumed, Contains("engine vllm"));
  EXPECT_EQ(question_of({{"--preset", "llama3-8b"}, {"--precision", "fp8"}}).format.mlp_bits, 8);
  EXPECT_EQ(question_of({{"--preset", "llama3-8b"}, {"--engine", "generic"}}).memory.rule,
            PoolRule::kReserve);
  EXPECT_EQ(question_of({{"--preset", "llama3-8b"}, {"--engine", "TensorRT-LLM"}}).memory.name, "trtllm");
}

TEST(ServeQuestion, TheObjectiveFollowsFromWhatIsTold) {
  const FlagList base{{"--preset", "llama3-8b"}, {"--input", "100"}, {"--output", "100"}};
  const auto goal = [&](FlagList more) {
    more.insert(more.end(), base.begin(), base.end());
    return question_of(more).goal;
  };
  EXPECT_EQ(goal({}), ServeGoal::kLatency);
  EXPECT_EQ(goal({{"--tpot-ms", "20"}}), ServeGoal::kTokensPerGpu);
  EXPECT_EQ(goal({{"--tpot-ms", "20"}, {"--batch", "4"}}), ServeGoal::kLatency);
  EXPECT_EQ(goal({{"--rate", "20"}}), ServeGoal::kGpus);
  EXPECT_EQ(goal({{"--rate", "20"}, {"--objective", "latency"}}), ServeGoal::kLatency);
}

TEST(ServeQuestion, EveryFlagIsReadOnce) {
  std::vector<std::string> seen;
  for (const ServeFlag& f : serve_flags()) {
    EXPECT_THAT(seen, testing::Not(Contains(f.flag)));
    seen.emplace_back(f.flag);
  }
  EXPECT_EQ(seen.size(), 45U);
}

}  // namespace
}  // namespace shardplan
