#include "reason/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <thread>

#include "import/question.h"
#include "reason/axes.h"
#include "reason/time_groups.h"
#include "units/format.h"

namespace shardplan {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

QuestionSpec hand(const char* params, const char* layers, const char* hidden, const char* heads) {
  QuestionSpec s;
  s.params = params;
  s.layers = layers;
  s.hidden = hidden;
  s.heads = heads;
  return s;
}

QuestionSpec gpt175(const char* gpus) {
  QuestionSpec s = hand("175", "96", "12288", "96");
  s.gpus = gpus;
  s.seq = "2048";
  return s;
}

struct Asked {
  explicit Asked(const QuestionSpec& spec) : question(build_question(spec, catalog()).value()) {}
  Question question;
  Estimator estimator{question};
  Answer answer = shardplan::answer(estimator, question.fixed);
};

bool has_digit(const std::string& text) { return text.find_first_of("0123456789") != std::string::npos; }

TEST(Binding, StateIsProvenInfeasibleOnEightGpus) {
  const Asked asked(gpt175("8"));
  const BindingConstraint& b = asked.answer.binding;
  EXPECT_EQ(b.kind, "state");
  EXPECT_NEAR(b.value / gibibytes(1).raw(), 325.96, 0.005);
  EXPECT_NEAR(b.limit / gibibytes(1).raw(), 182.32, 0.005);
  EXPECT_THAT(b.statement, HasSubstr("325.96 GiB on each of 8 GPUs"));
  EXPECT_THAT(b.statement, HasSubstr("182.32 GiB"));
  EXPECT_THAT(b.statement, HasSubstr("the smallest N is 15 (16 in whole nodes)"));
  EXPECT_THAT(asked.answer.thresholds, Contains(testing::AllOf(Field(&Threshold::parameter, "gpus"),
                                                               Field(&Threshold::threshold, 16))));
  EXPECT_TRUE(asked.answer.axes.empty());
  EXPECT_FALSE(asked.answer.unknowns.empty());
}

TEST(Binding, ActivationsAreNamedWithTheNearestMiss) {
  QuestionSpec spec = hand("8", "32", "4096", "32");
  spec.gpus = "1";
  spec.seq = "1048576";
  const Asked asked(spec);
  EXPECT_EQ(asked.answer.binding.kind, "activations");
  EXPECT_GT(asked.answer.binding.value, asked.answer.binding.limit);
  EXPECT_THAT(asked.answer.binding.statement, HasSubstr("too much"));
}

TEST(Binding, LogitsAreNamedWhenTheyAreTheLastStraw) {
  QuestionSpec spec = hand("1", "2", "1024", "8");
  spec.vocab = "2000000";
  spec.gpus = "1";
  spec.seq = "32768";
  EXPECT_EQ(Asked(spec).answer.binding.kind, "logits");
}

TEST(Binding, NoLegalPlanSaysWhichRule) {
  QuestionSpec spec = hand("8", "32", "4096", "32");
  spec.tp = "5";
  spec.gpus = "5";
  spec.gpus_per_node = "5";
  const Asked asked(spec);
  EXPECT_EQ(asked.answer.binding.kind, "none");
  EXPECT_THAT(asked.answer.binding.statement, HasSubstr("tp 5 does not divide"));
}

TEST(Binding, FeasibleNamesTheLargestTermWithBothSides) {
  const Asked asked(gpt175("64"));
  const Estimate& best = *asked.answer.result.best;
  const BindingConstraint& b = asked.answer.binding;
  EXPECT_EQ(b.kind, "compute");
  EXPECT_DOUBLE_EQ(b.value, compute_time(best.time).raw());
  EXPECT_DOUBLE_EQ(b.limit, best.step.raw());
  EXPECT_THAT(b.statement, HasSubstr("compute binds: "));
  EXPECT_THAT(b.statement, HasSubstr("Memory leaves"));
}

TEST(Binding, ASlowNetworkIsNamedByItsTier) {
  QuestionSpec spec = gpt175("64");
  spec.tp = "8";
  spec.bw_intra = "10";
  EXPECT_EQ(Asked(spec).answer.binding.kind, "link:node");
}

TEST(Binding, KindsAreWordsInASentence) {
  EXPECT_EQ(kind_words("link:network"), "the network");
  EXPECT_EQ(kind_words("link:node"), "the node's link");
  EXPECT_EQ(kind_words("hbm_bandwidth"), "HBM bandwidth");
  EXPECT_EQ(kind_words("compute"), "compute");
  QuestionSpec spec = gpt175("64");
  spec.tp = "8";
  spec.bw_intra = "10";
  EXPECT_TRUE(Asked(spec).answer.binding.statement.starts_with("the node's link binds: "));
}

TEST(TimeGroups, SumToTheStep) {
  const Asked asked(gpt175("16"));
  const Estimate& best = *asked.answer.result.best;
  double sum = 0;
  for (const TimeGroup& group : time_groups(best, asked.question.cluster)) sum += group.exposed.raw();
  EXPECT_NEAR(sum / best.step.raw(), 1, 1e-12);
}

TEST(Axes, UsedAndUnusedTogetherAreAllAxesAndEachCitesANumber) {
  const Asked asked(gpt175("16"));
  std::vector<std::string> names;
  std::int64_t product = 1;
  for (const AxisFinding& x : asked.answer.axes) {
    names.push_back(x.axis);
    if (x.axis != "zero") product *= x.degree;
    EXPECT_TRUE(has_digit(x.reason)) << x.reason;
    EXPECT_TRUE(x.available_bandwidth.has_value());
  }
  for (const UnusedAxis& x : asked.answer.not_used) {
    names.push_back(x.axis);
    EXPECT_TRUE(has_digit(x.reason)) << x.reason;
  }
  EXPECT_EQ(product, 16);
  EXPECT_THAT(names, testing::UnorderedElementsAre("dp", "zero", "tp", "pp", "cp", "ep"));
}

TEST(Axes, AtTheRequiredBandwidthTheReductionJustHides) {
  QuestionSpec spec = gpt175("64");
  spec.dp = "64";
  const Asked asked(spec);
  ASSERT_EQ(asked.answer.axes.size(), 2U);
  const AxisFinding& reduction = asked.answer.axes[0];
  const double needs = reduction.required_bandwidth->raw();
  for (const double factor : {0.98, 1.02}) {
    Question q = asked.question;
    for (Tier& tier : q.cluster.tiers)
      if (tier.name == reduction.tier) tier.bandwidth.value = bytes_per_s(needs * factor);
    const Estimator estimator(q);
    const AxisCost<> cost = estimator.time<double>(asked.answer.result.best->plan).axis(Axis::kData);
    EXPECT_EQ(cost.once() <= cost.window, factor > 1) << factor;
  }
}

TEST(Axes, WhatNothingHidesIsNotSaidToRunBesideAPass) {
  QuestionSpec spec = hand("1.3", "24", "2048", "16");
  spec.gpu = "a100-80gb-sxm";
  spec.gpus = "8";
  spec.framework = "deepspeed";
  spec.dp = "8";
  spec.zero = "1";
  spec.global_batch = "64";
  const Asked asked(spec);
  ASSERT_EQ(asked.answer.axes.size(), 2U);
  const bool hidden = asked.answer.result.best->time[TimeTerm::kData].hidden > seconds(0);
  const std::string& reason = asked.answer.axes[0].reason;
  EXPECT_FALSE(hidden);
  EXPECT_EQ(reason.find("beside the backward pass"), std::string::npos) << reason;
  EXPECT_THAT(reason, HasSubstr("nothing hides gradient and weight traffic"));
}

TEST(Axes, ForcingAnUnusedAxisIsNeverFaster) {
  const Asked asked(gpt175("64"));
  FixedAxes fixed;
  fixed.tp = 2;
  const auto forced = search(asked.estimator, fixed);
  EXPECT_FALSE(better(*forced.best, *asked.answer.result.best));
  EXPECT_THAT(asked.answer.not_used,
              Contains(testing::AllOf(Field(&UnusedAxis::axis, "ep"),
                                      Field(&UnusedAxis::reason, HasSubstr("without experts")))));
}

TEST(Thresholds, LayersAreAsManyMoreAsThereAreStages) {
  QuestionSpec spec;
  spec.model = "llama3-70b";
  spec.gpu = "h100-sxm";
  spec.gpus = "64";
  spec.seq = "8192";
  spec.global_batch = "512";
  const Asked asked(spec);
  const std::int64_t stages = asked.answer.result.best->plan.pp;
  ASSERT_GT(stages, 1);
  int found = 0;
  for (const Threshold& t : asked.answer.thresholds) {
    if (t.parameter != "layers") continue;
    ++found;
    EXPECT_EQ(static_cast<std::int64_t>(t.threshold - t.current) % stages, 0) << t.threshold;
    ASSERT_TRUE(t.same_until);
    EXPECT_EQ(std::fabs(t.threshold - *t.same_until), static_cast<double>(stages));
  }
  EXPECT_GE(found, 1);
}

TEST(Thresholds, LatenciesOfALibraryAreSaidNotToBeSought) {
  QuestionSpec spec;
  spec.model = "llama3-8b";
  spec.gpu = "h100-sxm";
  spec.gpus = "16";
  std::vector<std::string> left;
  for (const NotSought& n : Asked(spec).answer.not_sought) left.push_back(n.parameter);
  EXPECT_THAT(left, ElementsAre("latency_intra_node", "latency_inter_node"));
  EXPECT_TRUE(Asked(gpt175("64")).answer.not_sought.empty());
}

TEST(Thresholds, NearestFirst) {
  const Asked asked(gpt175("64"));
  ASSERT_FALSE(asked.answer.thresholds.empty());
  double before = 0;
  for (const Threshold& t : asked.answer.thresholds) {
    const double distance = std::fabs(std::log(t.threshold / t.current));
    EXPECT_GE(distance, before);
    before = distance;
  }
}

TEST(Thresholds, OfMemoryAreThePrintedSizesOnEitherSide) {
  const Asked asked(gpt175("64"));
  const Plan& now = asked.answer.result.best->plan;
  const auto plan_at = [&](double hbm) {
    Question q = asked.question;
    q.cluster.device.memory_reported.value = bytes(hbm);
    const auto best = search(Estimator(q), q.fixed).best;
    return best ? std::optional<Plan>(best->plan) : std::nullopt;
  };
  const auto same = [&](const std::optional<Plan>& p) {
    return p && p->dp == now.dp && p->tp == now.tp && p->pp == now.pp && p->cp == now.cp;
  };
  int checked = 0;
  for (const Threshold& t : asked.answer.thresholds) {
    if (t.parameter != "hbm") continue;
    ++checked;
    ASSERT_TRUE(t.same_until);
    for (const double side : {t.threshold, *t.same_until}) {
      const auto typed = parse_bytes(format(bytes(side)));
      ASSERT_TRUE(typed);
      EXPECT_EQ(same(plan_at(typed->raw())), side == *t.same_until) << format(bytes(side));
    }
  }
  EXPECT_GE(checked, 1);
}

TEST(Thresholds, OfGpusIsTheCountBelowWhichNothingFits) {
  QuestionSpec spec;
  spec.model = "llama3-8b";
  spec.gpu = "h100-sxm";
  spec.gpus = "8";
  spec.framework = "fsdp";
  spec.seq = "32768";
  spec.global_batch = "8";
  spec.cp = "1";
  const Asked asked(spec);
  const auto fits = [&](std::int64_t gpus) {
    Question q = asked.question;
    q.cluster.gpus = gpus;
    return search(Estimator(q), q.fixed).best.has_value();
  };
  // Seven GPUs divide nothing of the model: they hold less than four do.
  ASSERT_FALSE(fits(7));
  ASSERT_TRUE(fits(4));
  const auto& all = asked.answer.thresholds;
  const auto found =
      std::find_if(all.begin(), all.end(), [](const Threshold& t) { return t.parameter == "gpus"; });
  ASSERT_NE(found, all.end());
  EXPECT_EQ(found->threshold, 3);
  EXPECT_THAT(found->then, HasSubstr("nor does anything on 7, 5 GPUs"));
  for (std::int64_t gpus = 1; gpus <= 3; ++gpus) EXPECT_FALSE(fits(gpus)) << gpus;
}

TEST(Thresholds, TheCriticalBatchIsOne) {
  QuestionSpec spec = gpt175("64");
  spec.critical_batch = "8Mtok";
  EXPECT_THAT(Asked(spec).answer.thresholds,
              Contains(testing::AllOf(Field(&Threshold::parameter, "batch_tokens"),
                                      Field(&Threshold::threshold, 8e6))));
}

TEST(FailureModes, OnlyThoseThatApply) {
  const auto ids = [](const Answer& a) {
    std::vector<std::string> list;
    for (const FailureMode& f : a.failure_modes) list.push_back(f.id);
    return list;
  };
  EXPECT_THAT(ids(Asked(gpt175("64")).answer), ElementsAre("exposed_reduction", "stragglers"));
  QuestionSpec spec = gpt175("64");
  spec.tp = "16";
  spec.critical_batch = "1Mtok";
  spec.pp = "4";
  spec.recompute = "full";
  spec.global_batch = "1024";
  const Answer forced = Asked(spec).answer;
  EXPECT_THAT(ids(forced),
              testing::IsSupersetOf({"cross_node_tensor", "beyond_critical_batch", "recompute_transient"}));
  EXPECT_THAT(ids(forced), Not(Contains("stragglers")));
  for (const FailureMode& f : forced.failure_modes) {
    EXPECT_TRUE(has_digit(f.statement)) << f.statement;
    EXPECT_FALSE(f.symptom.empty());
  }
}

TEST(Answer, ATightBestPlanStandsBesideTheFastestThatClearlyFits) {
  QuestionSpec spec;
  spec.model = "llama3-8b";
  spec.gpu = "h100-sxm";
  spec.gpus = "8";
  spec.framework = "megatron";
  spec.recompute = "full";
  spec.global_batch = "64";
  const Asked asked(spec);
  const Answer a = answer(asked.estimator, asked.question.fixed, asked.answer.result, catalog().evidence);
  ASSERT_EQ(a.verdict, Verdict::kTight);
  EXPECT_EQ(a.result.best->plan, asked.answer.result.best->plan);
  ASSERT_TRUE(a.best_clear);
  const Bytes<> usable = a.best_clear->usable;
  EXPECT_LE(a.memory_band->high_ratio * a.best_clear->memory.total(), usable);
  EXPECT_EQ(a.best_clear_memory->worst().total(), a.best_clear->memory.total());
  Seconds<> fastest = seconds(INFINITY);
  asked.estimator.space().for_each(asked.question.fixed, [&](const Plan& plan) {
    int stage = 0;
    const Bytes<> total = asked.estimator.fullest_memory<double>(plan, stage).total();
    if (a.memory_band->high_ratio * total <= usable)
      fastest = std::min(fastest, asked.estimator.time<double>(plan).total());
  });
  EXPECT_EQ(a.best_clear->step, fastest);
  EXPECT_GT(fastest, a.result.best->step);
}

TEST(Answer, WhereNoRunComparesABestPlanThatFitsIsClear) {
  const Asked asked(gpt175("64"));
  EXPECT_EQ(asked.answer.verdict, Verdict::kFits);
  EXPECT_FALSE(asked.answer.best_clear);
}

TEST(WhyIllegal, OfBoundsNamesTheOneThatLeavesNoneAndTheRule) {
  QuestionSpec spec;
  spec.model = "llama3-8b";
  spec.gpus = "16";
  Question q = build_question(spec, catalog()).value();
  q.fixed.bounds_of(Degree::kTp).least = 16;
  EXPECT_FALSE(why_illegal(q, q.fixed));
  q.fixed.bounds_of(Degree::kPp).least = 2;
  const auto illegal = why_illegal(q, q.fixed);
  ASSERT_TRUE(illegal);
  EXPECT_EQ(illegal->constraint, Constraint::kGpuCount);
  EXPECT_THAT(illegal->where, HasSubstr("tp at least 16, pp at least 2 leave none"));
  EXPECT_THAT(illegal->where, HasSubstr("tp 16 x pp 2"));
}

TEST(Answer, StoppedItSaysWhatWasNotLookedAt) {
  const Asked whole(gpt175("64"));
  EXPECT_TRUE(whole.answer.not_looked_at.empty());
  SearchResult stopped = search(whole.estimator, whole.question.fixed);
  stopped.stopped = true;
  const Answer a = answer(whole.estimator, whole.question.fixed, stopped);
  EXPECT_THAT(a.not_looked_at, Contains("threshold: sequence"));
  EXPECT_THAT(a.not_looked_at, Contains("axis not used: cp"));
  EXPECT_THAT(a.not_looked_at, Contains("threshold: hbm").Times(1));
  EXPECT_TRUE(a.thresholds.empty());
  EXPECT_TRUE(a.not_used.empty());
  EXPECT_EQ(a.binding.statement, whole.answer.binding.statement) << "the best so far is defended";
}

TEST(Answer, OfASearchThatWasStoppedBeforeItFoundAPlanSaysNothingOfMemory) {
  QuestionSpec spec;
  spec.model = "llama3-8b";
  spec.gpus = "8";
  const Asked whole(spec);
  SearchResult none;
  none.stopped = true;
  const Answer a = answer(whole.estimator, whole.question.fixed, none);
  EXPECT_EQ(a.binding.kind, "none");
  EXPECT_TRUE(a.thresholds.empty());
  EXPECT_THAT(a.not_looked_at, Contains("threshold: gpus"));
}

/// Stopped anywhere, what it says is what it would have said, and what it does not say is named.
TEST(Answer, StoppedAmongTheThresholdsIsAPartOfTheWhole) {
  const Asked whole(gpt175("64"));
  SearchWatch watch;
  std::atomic<bool> over = false;
  std::thread stopping([&] {
    while (!over && !(std::string(watch.stage().of) == "thresholds" && watch.stage().done >= 3))
      std::this_thread::yield();
    watch.stop = true;
  });
  const Answer part = answer(whole.estimator, whole.question.fixed, whole.answer.result, Evidence{}, &watch);
  over = true;
  stopping.join();
  EXPECT_EQ(part.not_used.size(), whole.answer.not_used.size());
  EXPECT_FALSE(part.result.stopped);
  std::size_t seen = 0;
  for (const Threshold& t : whole.answer.thresholds) {
    const bool left = std::find(part.not_looked_at.begin(), part.not_looked_at.end(),
                                "threshold: " + t.parameter) != part.not_looked_at.end();
    const bool found = std::any_of(part.thresholds.begin(), part.thresholds.end(), [&](const Threshold& p) {
      return p.parameter == t.parameter && p.threshold == t.threshold && p.then == t.then;
    });
    EXPECT_TRUE(found || left) << t.parameter;
    seen += found ? 1 : 0;
  }
  EXPECT_EQ(seen, part.thresholds.size());
}

TEST(Answer, IsTheSameTwice) {
  const Asked one(gpt175("64")), two(gpt175("64"));
  EXPECT_EQ(one.answer.result.best->plan, two.answer.result.best->plan);
  ASSERT_EQ(one.answer.thresholds.size(), two.answer.thresholds.size());
  for (std::size_t i = 0; i < one.answer.thresholds.size(); ++i) {
    EXPECT_EQ(one.answer.thresholds[i].threshold, two.answer.thresholds[i].threshold);
  }
}

}  // namespace
}  // namespace shardplan
