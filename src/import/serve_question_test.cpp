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
  EXPECT_THAT(bare.question.assumed, Contains(HasSubstr("context 4096")));
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
  EXPECT_EQ(with({{"--pp", "2"}}), "--pp unsupported");
  EXPECT_EQ(with({{"--pp", "1"}}), "");
  EXPECT_EQ(with({{"--zero", "3"}}), "--zero unknown_flag");
  for (const char* name :
       {"mixtral-8x7b", "deepseek-v3", "gemma-2-27b", "qwen3-next-80b-a3b", "gpt-oss-20b"}) {
    EXPECT_EQ(code_at({{"--preset", name}, {"--seq", "8192"}}), "--model unsupported") << name;
  }
  // No window is shorter than this context.
  EXPECT_EQ(code_at({{"--preset", "gemma-2-27b"}, {"--seq", "1024"}}), "");
}

TEST(ServeQuestion, EveryFlagIsReadOnce) {
  std::vector<std::string> seen;
  for (const ServeFlag& f : serve_flags()) {
    EXPECT_THAT(seen, testing::Not(Contains(f.flag)));
    seen.emplace_back(f.flag);
  }
  EXPECT_EQ(seen.size(), 28U);
}

}  // namespace
}  // namespace shardplan
