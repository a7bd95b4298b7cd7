#include "import/plan_question.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace shardplan {
namespace {

PlanSpec spec(const char* gpus, ObjectiveTexts texts = {}) {
  PlanSpec s;
  s.question.preset = "llama3-8b";
  s.question.gpu = "h100-sxm";
  if (gpus != nullptr) s.question.gpus = gpus;
  s.objective = std::move(texts);
  return s;
}

PlanQuestion asked(const PlanSpec& s) {
  Result<PlanQuestion> question = build_plan_question(s, catalog());
  EXPECT_TRUE(question) << (question ? "" : question.error().message);
  return question ? std::move(question).value() : PlanQuestion{};
}

Error refused(const PlanSpec& s) {
  const Result<PlanQuestion> question = build_plan_question(s, catalog());
  EXPECT_FALSE(question);
  return question ? Error{} : question.error();
}

TEST(PlanQuestion, ReadsARangeOfSizes) {
  const PlanQuestion q = asked(spec("8:100:16"));
  ASSERT_TRUE(q.sizes);
  EXPECT_EQ(q.sizes->first(), 16);
  EXPECT_EQ(q.sizes->count(), 6);
  EXPECT_EQ(q.question.cluster.gpus, 96);
  EXPECT_FALSE(asked(spec("64")).sizes);
  EXPECT_EQ(asked(spec("7:7")).sizes->count(), 1);
}

TEST(PlanQuestion, RefusesARangeThatIsNone) {
  EXPECT_EQ(refused(spec("64:8")).expected, "the smaller number first");
  EXPECT_EQ(refused(spec("9:15:8")).expected, "a multiple of STEP between A and B");
  EXPECT_EQ(refused(spec("1:2:3:4")).code, "bad_value");
  EXPECT_EQ(refused(spec("1:")).code, "bad_value");
  EXPECT_EQ(refused(spec("0:8")).code, "out_of_range");
  EXPECT_EQ(refused(spec("1:16000000")).where, "--gpus");
  // A range is of plan's: a question alone has one size.
  EXPECT_EQ(build_question(spec("1:8").question, catalog()).error().code, "unsupported");
}

TEST(PlanQuestion, AllSizesShareOneBatch) {
  const PlanSpec s = spec("1:64");
  const std::int64_t batch = asked(s).question.workload.global_batch;
  EXPECT_EQ(batch, 1024);
  for (const std::int64_t gpus : {1, 7, 24, 48}) {
    EXPECT_EQ(question_of_size(s, catalog(), gpus)->workload.global_batch, batch) << gpus;
  }
  // One size alone takes a batch that its GPUs divide.
  EXPECT_EQ(asked(spec("24")).question.workload.global_batch % 24, 0);
}

TEST(PlanQuestion, TakesTheLargestSizeThatToldAxesDivide) {
  PlanSpec s = spec("1:50");
  s.fix = "tp=8,pp=2";
  EXPECT_EQ(asked(s).question.cluster.gpus, 48);
  s.question.gpus = "1:15";
  EXPECT_EQ(refused(s).code, "not_divisible");
}

TEST(PlanQuestion, ABudgetBoundsTheSizes) {
  ObjectiveTexts texts;
  texts.price = "2.5";
  texts.budget = "100";
  const PlanQuestion alone = asked(spec(nullptr, texts));
  EXPECT_EQ(alone.sizes->least, 1);
  EXPECT_EQ(alone.sizes->most, 40);
  EXPECT_EQ(asked(spec("16:64", texts)).sizes->most, 40);
  EXPECT_FALSE(asked(spec("40", texts)).sizes);
  EXPECT_EQ(refused(spec("41", texts)).where, "--budget");
  EXPECT_EQ(refused(spec("48:64", texts)).where, "--budget");
  // No more than --gpus takes.
  texts.price = "0.0001";
  texts.budget = "900000000";
  EXPECT_EQ(asked(spec("8:16777216:8388608", texts)).sizes->most, std::int64_t{1} << 24);
  EXPECT_EQ(refused(spec(nullptr, texts)).message, "16,777,216 sizes of the cluster");
  texts.price = "2.5";
  texts.budget = "100";
  texts.price.reset();
  EXPECT_EQ(refused(spec("8", texts)).code, "missing_flag");
  // Not more than a told cluster has.
  PlanSpec told = spec(nullptr, texts);
  told.question.gpu.reset();
  told.question.cluster = "course-64";
  told.objective.price = "0.1";
  EXPECT_EQ(asked(told).sizes->most, 64);
}

TEST(PlanQuestion, AnObjectiveWithoutWhatItNeedsIsRefusedByName) {
  const auto objective = [&](const char* kind) {
    ObjectiveTexts texts;
    texts.objective = kind;
    return spec("8", texts);
  };
  EXPECT_EQ(refused(objective("cost")).message, "objective cost needs the price of a GPU");
  EXPECT_EQ(refused(objective("energy")).message, "objective energy needs what a GPU draws");
  EXPECT_EQ(refused(objective("gpus")).message, "objective gpus needs tokens and a time for them");
  EXPECT_EQ(refused(objective("costs")).nearest, "cost");
  EXPECT_EQ(asked(objective("tokens-per-gpu")).objective.kind, ObjectiveKind::kTokensPerGpu);
  ObjectiveTexts late;
  late.deadline = "30d";
  EXPECT_EQ(refused(spec("8", late)).where, "--deadline");
}

TEST(PlanQuestion, ReadsTheFiguresOfTheRun) {
  ObjectiveTexts texts;
  texts.tokens = "15T";
  texts.deadline = "36h";
  texts.price = "2.5";
  texts.watts = "700";
  const Objective o = asked(spec("8", texts)).objective;
  EXPECT_EQ(o.budget, tokens(15e12));
  EXPECT_EQ(o.deadline, seconds(129600));
  EXPECT_DOUBLE_EQ(hourly(o.price->value), 2.5);
  EXPECT_EQ(o.price->source.id, "--price");
  EXPECT_EQ(o.watts->value, 700);
  const auto wrong = [&](ObjectiveTexts::Flag ObjectiveTexts::*text, const char* typed) {
    ObjectiveTexts one;
    one.tokens = "15T";
    one.*text = typed;
    return refused(spec("8", one)).where;
  };
  EXPECT_EQ(wrong(&ObjectiveTexts::tokens, "many"), "--tokens");
  EXPECT_EQ(wrong(&ObjectiveTexts::deadline, "30"), "--deadline");
  EXPECT_EQ(wrong(&ObjectiveTexts::deadline, "-3d"), "--deadline");
  EXPECT_EQ(wrong(&ObjectiveTexts::deadline, ""), "--deadline");
  EXPECT_EQ(wrong(&ObjectiveTexts::price, "nan"), "--price");
  EXPECT_EQ(wrong(&ObjectiveTexts::price, "0"), "--price");
  EXPECT_EQ(wrong(&ObjectiveTexts::watts, "700W"), "--watts");
  EXPECT_EQ(wrong(&ObjectiveTexts::budget, "-1"), "--budget");
}

TEST(PlanQuestion, SeveralSchedulesAreWhatTheEngineIsAskedToTry) {
  PlanSpec s = spec("64");
  EXPECT_EQ(asked(s).question.framework.engine.schedules,
            (std::vector{Schedule::k1F1B, Schedule::kInterleaved}));
  s.question.schedule = "any";
  for (const bool whole_space : {false, true}) {
    s.whole_space = whole_space;
    const Question any = asked(s).question;
    EXPECT_EQ(any.framework.engine.schedules.size(), kSchedules.size());
    EXPECT_FALSE(any.fixed.schedule);
    EXPECT_EQ(any.notes.front(), "searched schedules: gpipe, 1f1b, interleaved, zb-h1, zb-v, dualpipe");
    EXPECT_TRUE(any.notes.back().ends_with("not gpipe, zb-h1, zb-v, dualpipe")) << any.notes.back();
  }
  s.question.schedule = "ZB_V,1f1b";
  EXPECT_EQ(asked(s).question.framework.engine.schedules, (std::vector{Schedule::kZbV, Schedule::k1F1B}));
  s.question.framework = "torchtitan";
  EXPECT_EQ(asked(s).question.notes, (std::vector<std::string>{"searched schedules: zb-v, 1f1b"}));
  s.question.schedule = "zb-v";
  EXPECT_EQ(asked(s).question.fixed.schedule, Schedule::kZbV);
}

TEST(PlanQuestion, SchedulesThatMeanNothingAreRefused) {
  PlanSpec s = spec("64");
  for (const char* text : {"1f1b,zb-w", "zb-w", "1f1b,", ","}) {
    s.question.schedule = text;
    EXPECT_EQ(refused(s).code, "unknown_name") << text;
  }
  s.question.schedule = "1f1b,zb-w";
  EXPECT_EQ(refused(s).message, "\"zb-w\" is not one of its values");
  EXPECT_EQ(
      refused(s).expected,
      "one of gpipe, 1f1b, interleaved, zb-h1, zb-v, dualpipe, several of them joined by commas, or any");
  s.question.interleave = "2";
  s.question.schedule = "1f1b,zb-v";
  EXPECT_EQ(refused(s).where, "--interleave");
  s.question.schedule = "any";
  asked(s);
  s.question.interleave = "1";
  asked(s);
  // One layout has one schedule.
  for (const Purpose purpose : {Purpose::kMemory, Purpose::kRun}) {
    QuestionSpec one = spec("8").question;
    one.purpose = purpose;
    for (const char* text : {"any", "1f1b,zb-v"}) {
      one.schedule = text;
      const auto question = build_question(one, catalog());
      ASSERT_FALSE(question) << text;
      EXPECT_EQ(question.error().code, "unsupported") << text;
    }
  }
}

TEST(PlanQuestion, ListsNameEachValueOnceAndAnyIsAlone) {
  const auto refused_for = [&](QuestionSpec::Flag QuestionSpec::*flag, const char* text) {
    PlanSpec s = spec("64");
    s.question.*flag = text;
    const Error error = refused(s);
    EXPECT_EQ(error.code, "conflict") << text << ": " << error.message;
    return error.message;
  };
  const std::string beside = "\"any\" stands for all of them, and others are named beside it";
  EXPECT_EQ(refused_for(&QuestionSpec::precision, "any,bf16"), beside);
  EXPECT_EQ(refused_for(&QuestionSpec::precision, "bf16,ANY"), beside);
  EXPECT_EQ(refused_for(&QuestionSpec::schedule, "any,1f1b"), beside);
  EXPECT_EQ(refused_for(&QuestionSpec::schedule, "1f1b,any"), beside);
  EXPECT_EQ(refused_for(&QuestionSpec::precision, "any,any"), "any is named twice");
  EXPECT_EQ(refused_for(&QuestionSpec::precision, "bf16,FP8,fp8"), "fp8 is named twice");
  EXPECT_EQ(refused_for(&QuestionSpec::precision, "fp4,nvfp4"), "nvfp4 is named twice");
  EXPECT_EQ(refused_for(&QuestionSpec::schedule, "zb-v,1f1b,ZB_V"), "zb-v is named twice");
  EXPECT_EQ(refused_for(&QuestionSpec::recompute, "mlp,layernorm,mlp"), "mlp is named twice");
  EXPECT_EQ(refused_for(&QuestionSpec::offload, "activations,activations"), "activations is named twice");
  EXPECT_EQ(refused_for(&QuestionSpec::lora, "8:q_proj,q-proj"), "q-proj is named twice");
}

/// "bf16 fp8": those that have a question.
std::string possible(const PlanQuestion& q) {
  std::string names;
  for (const AskedPrecision& p : q.precisions) {
    if (p.impossible.empty()) names += (names.empty() ? "" : " ") + p.name;
  }
  return names;
}

TEST(PlanQuestion, EachPrecisionIsAQuestionOfItsOwn) {
  PlanSpec s = spec("64");
  EXPECT_TRUE(asked(s).precisions.empty());
  s.question.precision = "fp8";
  EXPECT_TRUE(asked(s).precisions.empty());
  s.question.precision = "any";
  const PlanQuestion any = asked(s);
  ASSERT_EQ(any.precisions.size(), static_cast<std::size_t>(kPrecisionRecipeCount));
  EXPECT_EQ(possible(any), "bf16 fp16 fp8 fp8-blockwise");
  EXPECT_EQ(any.question.workload.recipe, PrecisionRecipe::kBf16);
  EXPECT_EQ(any.precisions[2].of_size(64).workload.recipe, PrecisionRecipe::kFp8);
  EXPECT_EQ(any.precisions[3].impossible, "h100-sxm has no mxfp8 products");
  EXPECT_EQ(any.precisions[5].impossible, "h100-sxm has no fp4 rate");
  s.question.precision = "FP8,bf16,fp32";
  const PlanQuestion list = asked(s);
  EXPECT_EQ(list.precisions.size(), 3U);
  EXPECT_EQ(possible(list), "fp8 bf16");
  EXPECT_EQ(list.question.workload.recipe, PrecisionRecipe::kFp8);
  s.question.gpus = "8:64:8";
  EXPECT_EQ(possible(asked(s)), "fp8 bf16");
}

TEST(PlanQuestion, WhatTheFrameworkDoesNotTrainInIsLeftOut) {
  PlanSpec s = spec("64");
  s.question.precision = "any";
  s.question.framework = "deepspeed";
  const PlanQuestion q = asked(s);
  EXPECT_EQ(possible(q), "bf16 fp16");
  EXPECT_EQ(q.precisions[2].impossible,
            "deepspeed does not train in fp8 [DeepSpeed configuration, precision (published)]");
  s.question.framework = "megatron";
  s.question.gpu = "b200";
  EXPECT_EQ(possible(asked(s)), "bf16 fp16 fp8 mxfp8 fp8-blockwise nvfp4");
}

TEST(PlanQuestion, PrecisionsThatCannotBeHadAreRefused) {
  PlanSpec s = spec("64");
  s.question.precision = "bf16,fp9";
  EXPECT_EQ(refused(s).nearest, "fp8");
  EXPECT_EQ(refused(s).expected,
            "one of bf16, fp16, fp8, mxfp8, fp8-blockwise, nvfp4, several of them joined by commas, or any");
  s.question.precision = "mxfp8,nvfp4";
  EXPECT_EQ(refused(s).message,
            "none of the precisions can be had: h100-sxm has no mxfp8 products; h100-sxm has no fp4 rate");
  s.question.precision = "bf16,fp8";
  s.question.peak_tflops = "500";
  EXPECT_EQ(refused(s).where, "--peak-tflops");
  // One question alone has one.
  EXPECT_EQ(build_question(s.question, catalog()).error().code, "unsupported");
}

TEST(PlanQuestion, ForbiddenPrecisionsAreNotAskedFor) {
  PlanSpec s = spec("64");
  s.question.precision = "any";
  s.bounds.forbid = "precision=fp16,precision=fp8";
  const PlanQuestion q = asked(s);
  EXPECT_EQ(possible(q), "bf16 fp8-blockwise");
  EXPECT_EQ(q.precisions[1].impossible, "fp16 is forbidden");
  EXPECT_EQ(possible(asked([&] {
              PlanSpec fixed = s;
              fixed.question.precision.reset();
              fixed.fix = "precision=any";
              return fixed;
            }())),
            "bf16 fp8-blockwise");
  s.question.precision = "fp8";
  EXPECT_EQ(refused(s).where, "--precision");
  s.question.precision.reset();
  s.bounds.forbid = "precision=bf16";
  EXPECT_EQ(refused(s).message, "precision bf16 is forbidden and taken where none is told");
  EXPECT_EQ(refused(s).where, "--forbid precision");
}

TEST(PlanQuestion, ErrorsNameTheFlagThatWasWritten) {
  const auto where = [&](const char* fix, BoundTexts bounds = {}) {
    PlanSpec s = spec("64");
    s.fix = fix;
    s.bounds = std::move(bounds);
    return refused(s).where;
  };
  EXPECT_EQ(where("tp=0"), "--fix tp");
  EXPECT_EQ(where("tp=2,schedule=zbv"), "--fix schedule");
  EXPECT_EQ(where("precision=fp9"), "--fix precision");
  EXPECT_EQ(where("first-layers=33"), "--fix first-layers");
  EXPECT_EQ(where("tp=2", {"tp=4", {}, {}}), "--fix tp");
  EXPECT_EQ(where("rank-order=pp"), "--fix rank-order");
  PlanSpec s = spec("64");
  s.question.pp = "2";
  s.question.gpu = "h100";
  s.fix = "tp=2,precision=fp8";
  s.bounds = {"dp=2", "micro-batch=4", "cp,schedule=zb-v"};
  std::string told;
  for (const ToldAxis& one : asked(s).told) told += one.axis + " by " + one.flag + "; ";
  EXPECT_EQ(told,
            "pp by --pp; tp by --fix tp; precision by --fix precision; dp by --min dp; micro-batch by --max "
            "micro-batch; cp by --forbid cp; schedule by --forbid schedule; ");
}

TEST(PlanQuestion, LayersOfTheEndsAreTold) {
  PlanSpec s = spec("64");
  s.question.first_layers = "3";
  s.question.last_layers = "4";
  const Question q = asked(s).question;
  EXPECT_EQ(q.fixed.first_layers, 3);
  EXPECT_EQ(q.fixed.last_layers, 4);
  s.question.last_layers = "30";
  EXPECT_EQ(refused(s).message, "33 layers of the first and the last chunk, and llama3-8b has 32");
  s.question.last_layers = "0";
  EXPECT_EQ(refused(s).where, "--last-layers");
  s.question.last_layers.reset();
  s.question.framework = "torchtitan";
  EXPECT_EQ(asked(s).question.notes.back(),
            "no option of torchtitan is known that tells how many layers the first or the last chunk holds");
  QuestionSpec memory = s.question;
  memory.purpose = Purpose::kMemory;
  memory.pp = "2";
  memory.gpus = "2";
  const Plan plan = default_memory_plan(*build_question(memory, catalog()))->plan;
  EXPECT_EQ(plan.first_layers, 3);
  EXPECT_EQ(plan.last_layers, Plan::kEven);
}

class ClusterWithPrice : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(path_) << R"({"device": "h100-sxm", "gpus": 16, "price_per_gpu_hour_usd": 2,
      "power_per_gpu_w": 1000, "tiers": [{"name": "node", "size": 8, "fabric": "scale_up"},
      {"name": "network", "size": 16, "fabric": "ib-ndr-400"}]})";
  }
  void TearDown() override { std::remove(path_.c_str()); }
  std::string path_ = (std::filesystem::temp_directory_path() / "plan_question_test_cluster.json").string();
};

TEST_F(ClusterWithPrice, TheFileTellsPriceAndWatts) {
  PlanSpec s;
  s.question.preset = "llama3-8b";
  s.question.cluster = path_;
  s.objective.objective = "cost";
  const Objective o = asked(s).objective;
  EXPECT_DOUBLE_EQ(hourly(o.price->value), 2);
  EXPECT_EQ(o.price->source.ref, "price_per_gpu_hour_usd");
  EXPECT_EQ(o.watts->value, 1000);
  s.objective.price = "3";
  EXPECT_DOUBLE_EQ(hourly(asked(s).objective.price->value), 3);
  s.question.gpus = "8:32:8";
  EXPECT_EQ(refused(s).code, "out_of_range");
}

}  // namespace
}  // namespace shardplan
