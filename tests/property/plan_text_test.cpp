#include "import/plan_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "graph/space.h"
#include "import/catalog.h"
#include "import/question.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;

Result<PlanText> read(std::string_view text) { return read_plan_text(text, "PLAN_A"); }

TEST(PlanText, DotsCommasAndEqualsAreAlike) {
  for (const char* typed :
       {"tp8·pp4·dp16", "tp8.pp4.dp16", "tp8,pp4,dp16", "tp=8, pp=4, dp=16", "TP8.PP4.DP16"}) {
    const auto text = read(typed);
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_EQ(text->axes.tp, 8) << typed;
    EXPECT_EQ(text->axes.pp, 4) << typed;
    EXPECT_EQ(text->axes.dp, 16) << typed;
    EXPECT_FALSE(text->axes.cp) << typed;
    EXPECT_FALSE(text->whole) << typed;
  }
}

TEST(PlanText, WithDpZeroAndMicroBatchItIsWhole) {
  const auto text = read("dp16·tp8·z1·mb2");
  ASSERT_TRUE(text);
  EXPECT_TRUE(text->whole);
  EXPECT_EQ(text->axes.cp, 1);
  EXPECT_EQ(text->axes.recompute, Recompute::kNone);
  EXPECT_EQ(canonical(text->as_plan()), "dp16·tp8·z1·mb2");
}

TEST(PlanText, FullNamesAreTakenToo) {
  const auto text = read("zero3.micro-batch2.interleave4.schedule=zb-h1.sp=off.recompute=none");
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(text->axes.zero_stage, 3);
  EXPECT_EQ(text->axes.micro_batch, 2);
  EXPECT_EQ(text->axes.interleave, 4);
  EXPECT_EQ(text->axes.schedule, Schedule::kZbH1);
  EXPECT_EQ(text->axes.sequence_parallel, false);
  EXPECT_EQ(text->axes.recompute, Recompute::kNone);
}

TEST(PlanText, ErrorsSayWhatAndTheNearest) {
  struct Case {
    const char *typed, *code, *says, *nearest;
  };
  for (const Case& c : {Case{"tq8", "unknown_name", "\"tq8\"", "tp"},
                        {"tp", "bad_value", "\"tp\"", ""},
                        {"tp0", "out_of_range", "between 1", ""},
                        {"tp8.tp4", "conflict", "tp twice", ""},
                        {"", "unknown_name", "\"\"", ""},
                        {"z4", "out_of_range", "between 0 and 3", ""},
                        {"fulll", "unknown_name", "\"fulll\"", "full"},
                        {"full.selective", "conflict", "beside", ""},
                        {"tp99999999999999999999", "out_of_range", "between", ""}}) {
    const auto text = read(c.typed);
    ASSERT_FALSE(text) << c.typed;
    EXPECT_EQ(text.error().code, c.code) << c.typed;
    EXPECT_EQ(text.error().where, "PLAN_A");
    EXPECT_THAT(text.error().message, HasSubstr(c.says));
    EXPECT_EQ(text.error().nearest, c.nearest) << c.typed;
  }
}

TEST(PlanText, AnAnswerIsItsBestPlan) {
  const char* plan = R"({"dp":2,"tp":4,"pp":1,"cp":1,"ep":1,"etp":1,"zero_stage":1,"micro_batch":2,
    "grad_accumulation":8,"interleave":1,"schedule":"1f1b","recompute":"full:4","sequence_parallel":true,
    "offload":"optimizer,params"})";
  for (const std::string& document : {std::string(plan), std::string(R"({"plan":)") + plan + "}",
                                      std::string(R"({"best":{"plan":)") + plan + "}}"}) {
    const auto text = read_plan_document(document, "x.json");
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_EQ(canonical(text->as_plan()), "dp2·tp4·z1·mb2·ga8·full:4·offload:optimizer,params");
  }
  const auto none = read_plan_document(R"({"best":null})", "x.json");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("no plan"));
}

TEST(PlanText, FieldsAndCanonicalTextMustAgree) {
  const auto text = read_plan_document(
      R"({"dp":2,"tp":8,"zero_stage":1,"micro_batch":2,"canonical":"dp2·tp4·z1·mb2"})", "x.json");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, "conflict");
  const auto ends = read_plan_document(
      R"({"dp":2,"pp":4,"zero_stage":1,"micro_batch":2,"grad_accumulation":8,"first_layers":4,
          "canonical":"dp2·pp4·z1·mb2·ga8·first3"})",
      "x.json");
  ASSERT_FALSE(ends);
  EXPECT_EQ(ends.error().code, "conflict");
  const auto dealt = read_plan_document(R"({"canonical":"dp2·pp4·z1·mb2·ga8·first3·last4"})", "x.json");
  ASSERT_TRUE(dealt);
  EXPECT_EQ(dealt->first_layers, 3);
}

Question question_of(const char* preset, const char* framework, bool whole_space) {
  QuestionSpec spec;
  spec.preset = preset;
  spec.framework = framework;
  spec.gpu = "h100-sxm";
  spec.gpus = "16";
  spec.host_memory = "1000";
  Question q = build_question(spec, catalog()).value();
  q.whole_space = whole_space;
  return q;
}

TEST(PlanText, ReadsEveryLegalPlanThatIsPrinted) {
  for (const bool whole : {false, true}) {
    for (const char* preset : {"llama3-8b", "qwen3-30b-a3b"}) {
      for (const char* framework : {"generic", "megatron", "deepspeed"}) {
        const Question q = question_of(preset, framework, whole);
        std::int64_t seen = 0;
        Space(q).for_some(q.fixed, 40, [&](const Plan& plan) {
          const auto text = read(canonical(plan));
          ASSERT_TRUE(text) << canonical(plan) << ": " << text.error().message;
          EXPECT_TRUE(text->as_plan() == plan) << canonical(plan) << ", " << canonical(text->as_plan());
          ++seen;
        });
        EXPECT_GT(seen, 100);
      }
    }
  }
}

/// A plan of parts that canonical() tells apart, legal or not.
Plan any_plan(std::mt19937& random) {
  const auto pick = [&](std::int32_t most) { return static_cast<std::int32_t>(random() % most) + 1; };
  Plan p;
  for (auto* degree : {&p.dp, &p.tp, &p.pp, &p.cp, &p.ep, &p.etp, &p.micro_batch, &p.grad_accumulation})
    *degree = pick(64);
  p.zero_stage = static_cast<std::int8_t>(pick(4) - 1);
  p.shard_group = pick(2) == 1 ? 0 : 1 + pick(64);
  p.interleave = pick(2) == 1 ? 1 : 1 + pick(8);
  p.schedule = p.interleave > 1 ? Schedule::kInterleaved
               : p.pp == 1      ? Schedule::k1F1B
                                : kSchedules[random() % 6];
  if (p.interleave == 1 && p.schedule == Schedule::kInterleaved) p.schedule = Schedule::kZbV;
  const auto modules = static_cast<std::uint8_t>(1 + random() % 127);
  const std::array<Recompute, 4> recomputes{Recompute::kNone, Recompute::of_modules(modules),
                                            Recompute::block(pick(9)), Recompute::uniform(pick(9))};
  p.recompute = recomputes[random() % recomputes.size()];
  p.sequence_parallel = p.tp > 1 && pick(2) == 1;
  if (pick(3) == 1) p.first_layers = static_cast<std::int16_t>(pick(9) - 1);
  if (pick(3) == 1) p.last_layers = static_cast<std::int16_t>(pick(9) - 1);
  p.micro_batch_group = pick(3) == 1 ? 1 + pick(8) : 0;
  p.offload = static_cast<std::uint8_t>(random() % 8);
  p.rank_order.index = static_cast<std::int8_t>(random() % kRankOrders);
  return p;
}

TEST(PlanText, IsTheInverseOfCanonical) {
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const Plan plan = any_plan(random);
    const auto text = read(canonical(plan));
    ASSERT_TRUE(text) << canonical(plan) << ": " << text.error().message;
    ASSERT_TRUE(text->as_plan() == plan) << canonical(plan) << ", " << canonical(text->as_plan());
  }
}

TEST(PlanText, AFlagAndATextMayNotSayTwoThings) {
  FixedAxes axes;
  axes.tp = 4;
  EXPECT_FALSE(add_axes(*read("tp4.pp2"), axes));
  EXPECT_EQ(axes.pp, 2);
  const auto error = add_axes(*read("tp8"), axes);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, "conflict");
}

}  // namespace
}  // namespace shardplan
