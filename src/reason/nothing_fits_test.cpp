#include "reason/nothing_fits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>

#include "import/question.h"
#include "reason/fitting_changes.h"
#include "reason/memory_answer.h"
#include "reason/remedies.h"

namespace shardplan {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;

QuestionSpec of_model(const char* model, const char* gpu, const char* gpus, const char* framework = nullptr) {
  QuestionSpec s;
  s.model = model;
  s.gpu = gpu;
  s.gpus = gpus;
  if (framework != nullptr) s.framework = framework;
  return s;
}

QuestionSpec large_state() { return of_model("llama3-405b", "h100-sxm", "64"); }
QuestionSpec long_sequence() {
  QuestionSpec s = of_model("llama3-8b", "h100-sxm", "8");
  s.seq = "2097152";
  s.global_batch = "8";
  return s;
}
QuestionSpec told_axes_too_large() {
  QuestionSpec s = of_model("llama3-70b", "h100-sxm", "64", "megatron");
  s.tp = "1";
  s.pp = "1";
  s.cp = "1";
  s.recompute = "none";
  return s;
}
QuestionSpec told_stage() {
  QuestionSpec s = of_model("llama3-70b", "h100-sxm", "64", "megatron");
  s.zero = "1";
  s.tp = "1";
  s.pp = "1";
  return s;
}
QuestionSpec full_host() {
  QuestionSpec s = of_model("llama2-13b", "a100-80gb-sxm", "8", "deepspeed");
  s.offload = "optimizer";
  s.recompute = "full";
  s.host_memory = "100";
  s.tp = "1";
  return s;
}

struct Asked {
  explicit Asked(const QuestionSpec& spec) : question(build_question(spec, catalog()).value()) {}
  Question question;
  Estimator estimator{question};
  SearchResult result = search(estimator, question.fixed);
  std::optional<NothingFits> why = nothing_fits(estimator, question.fixed, result, std::nullopt);
};

bool fits(const Question& q, const FixedAxes& fixed) {
  return search(Estimator(q), fixed, SearchOptions{.runners_up = 0}).best.has_value();
}

std::vector<QuestionSpec> all_kinds() {
  return {large_state(), long_sequence(), told_axes_too_large(), told_stage(), full_host()};
}

/// A change of several told axes lists them: "tp 1, pp 1 not told".
bool named(const FittingChange& change, const ToldLimit& told) {
  const std::string words = told.limit.statement.substr(0, told.limit.statement.rfind(" is told"));
  const std::string all = change.statement.substr(0, change.statement.rfind(" not told"));
  return change.id == "told" && (", " + all + ", ").find(", " + words + ", ") != std::string::npos;
}

/// The question after a change, as a person would ask it.
AskedPlan changed(const Question& q, const FittingChange& change, double to) {
  AskedPlan asked{q, q.fixed};
  if (change.id == "hbm") asked.question.cluster.device.memory_reported.value = bytes(to);
  if (change.id == "host_memory") asked.question.cluster.host_memory->value = bytes(to);
  if (change.id == "sequence") asked.question.workload.sequence = static_cast<std::int64_t>(to);
  if (change.id == "gpus") {
    set_gpus(asked.question.cluster, static_cast<std::int64_t>(to));
    asked.fixed.dp.reset();
    asked.question.fixed = asked.fixed;
  }
  if (change.id == "offload") asked.fixed.offload = asked.question.fixed.offload = change.plan.offload;
  for (const ToldLimit& told : told_limits(q.fixed))
    if (told.limit.id == change.id || named(change, told)) told.free(asked.fixed);
  asked.question.fixed = asked.fixed;
  for (const TrainingVariant& variant : training_variants(q))
    if (variant.id == change.id && variant.change == change.statement) asked.question = variant.question;
  return asked;
}

TEST(NothingFits, EachChangeAsAPersonWouldAskForItFits) {
  for (const QuestionSpec& spec : all_kinds()) {
    const Asked asked(spec);
    ASSERT_FALSE(asked.result.best) << asked.question.model.name << " " << canonical(asked.result.best->plan);
    ASSERT_TRUE(asked.why);
    EXPECT_EQ(asked.why->changes.size(), 3U) << asked.why->proof;
    for (const FittingChange& change : asked.why->changes) {
      const AskedPlan then =
          changed(asked.question, change, change.to * (change.unit == "bytes" ? 1 + 1e-9 : 1));
      const auto best = search(Estimator(then.question), then.fixed).best;
      ASSERT_TRUE(best) << change.statement;
      EXPECT_EQ(best->plan, change.plan) << change.statement;
      EXPECT_EQ(best->step, change.step) << change.statement;
      EXPECT_FALSE(change.price.empty());
      EXPECT_FALSE(change.figures.empty());
    }
  }
}

TEST(NothingFits, ALittleLessOfAnAmountDoesNotFit) {
  int checked = 0;
  for (const QuestionSpec& spec : all_kinds()) {
    const Asked asked(spec);
    for (const FittingChange& change : asked.why->changes) {
      double less = 0;
      // What is printed is rounded up, by less than this.
      if (change.unit == "bytes") less = change.to - gibibytes(0.0101).raw();
      if (change.id == "gpus") less = change.to - static_cast<double>(gpus_of_node(asked.question.cluster));
      if (less <= change.from) continue;
      const AskedPlan then = changed(asked.question, change, less);
      EXPECT_FALSE(fits(then.question, then.fixed)) << change.statement;
      ++checked;
    }
  }
  EXPECT_GE(checked, 4);
}

/// Without all limits but these nothing fits, without any one of them something does.
TEST(NothingFits, TheLimitsAreIrreducible) {
  for (const QuestionSpec& spec : all_kinds()) {
    const Asked asked(spec);
    const auto limits = movable_limits(asked.estimator, asked.question.fixed, asked.result, nullptr);
    const auto listed = [&](const MovableLimit& limit) {
      return std::any_of(asked.why->limits.begin(), asked.why->limits.end(),
                         [&](const Limit& one) { return one.statement == limit.limit.statement; });
    };
    EXPECT_FALSE(asked.why->limits.empty());
    AskedPlan without{asked.question, asked.question.fixed};
    for (const MovableLimit& limit : limits)
      if (!listed(limit) && limit.lift) limit.lift(without);
    EXPECT_FALSE(fits(without.question, without.fixed)) << asked.why->proof;
    for (const MovableLimit& limit : limits) {
      if (!listed(limit)) continue;
      AskedPlan also = without;
      if (limit.lift) limit.lift(also);
      EXPECT_TRUE((limit.lift && fits(also.question, also.fixed)) || limit.least())
          << limit.limit.statement << " can be left out";
    }
  }
}

TEST(NothingFits, OfStateTheProofIsTheFloorAndTheSequencePlaysNoPart) {
  const Asked asked(large_state());
  EXPECT_EQ(asked.why->proof,
            "16 bytes x 405,853,388,800 parameters / 64 GPUs = 94.50 GiB > 74.01 GiB usable");
  EXPECT_THAT(asked.why->limits, Contains(Field(&Limit::id, "gpus")));
  EXPECT_THAT(asked.why->limits, Contains(Field(&Limit::id, "hbm")));
  EXPECT_THAT(asked.why->limits, Not(Contains(Field(&Limit::id, "sequence"))));
}

TEST(NothingFits, OfALongSequenceItIsALimit) {
  const Asked asked(long_sequence());
  EXPECT_THAT(asked.why->limits, Contains(Field(&Limit::id, "sequence")));
  EXPECT_THAT(asked.why->proof, HasSubstr(" of activations"));
}

TEST(NothingFits, WhatIsToldIsTakenBackFirst) {
  const Asked asked(told_stage());
  EXPECT_THAT(asked.why->limits, Contains(Field(&Limit::id, "zero")));
  EXPECT_EQ(asked.why->changes.front().price.substr(0, 14), "nothing to buy");
}

TEST(NothingFits, AFullHostIsALimitAndItsMemoryAChange) {
  const Asked asked(full_host());
  EXPECT_THAT(asked.why->limits, Contains(Field(&Limit::id, "host_memory")));
  EXPECT_THAT(asked.why->proof, HasSubstr("on a node's host"));
}

TEST(NothingFits, APriceOfAGpuMakesThemMoney) {
  const Asked asked(large_state());
  const auto why = nothing_fits(asked.estimator, asked.question.fixed, asked.result, usd_per_hour(2));
  const FittingChange& change = why->changes.front();
  const double usd = 2.0 / 3600 * change.step.raw() * static_cast<double>(change.gpus) / change.tokens * 1e6;
  EXPECT_THAT(change.figures,
              Contains(testing::AllOf(Field(&StatedFigure::id, "cost"),
                                      Field(&StatedFigure::value, testing::DoubleNear(usd, 1e-9 * usd)))));
  EXPECT_THAT(change.price, HasSubstr("$"));
}

TEST(NothingFits, WhereAPlanFitsOrNoneIsLegalThereIsNothingToSay) {
  EXPECT_FALSE(Asked(of_model("llama3-8b", "h100-sxm", "8")).why);
  const Asked asked(of_model("llama3-8b", "h100-sxm", "8"));
  FixedAxes illegal;
  illegal.micro_batch = 7;
  const SearchResult none = search(asked.estimator, illegal);
  ASSERT_EQ(none.census.considered, 0);
  EXPECT_FALSE(nothing_fits(asked.estimator, illegal, none, std::nullopt));
}

TEST(NothingFits, StoppedItSaysNothing) {
  const Asked asked(long_sequence());
  SearchWatch watch;
  std::thread stopping([&] {
    while (std::string(watch.stage().of) != "changes" || watch.stage().done < 2) std::this_thread::yield();
    watch.stop = true;
  });
  const auto why = nothing_fits(asked.estimator, asked.question.fixed, asked.result, std::nullopt, &watch);
  stopping.join();
  EXPECT_FALSE(why);
}

}  // namespace
}  // namespace shardplan
