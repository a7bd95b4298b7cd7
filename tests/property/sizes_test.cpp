// What a search over cluster sizes leaves out is not what was looked for: it finds what a search of every
// size finds, for each objective; and the front of plans that no other beats is that of all plans.
#include "search/sizes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "estimate/run_totals.h"
#include "import/catalog.h"
#include "import/plan_question.h"
#include "search/pareto.h"

namespace shardplan {
namespace {

struct Asked {
  const char *model, *gpu, *gpus, *sequence, *batch, *framework;
};

PlanSpec spec_of(const Asked& asked) {
  PlanSpec spec;
  spec.question.model = asked.model;
  spec.question.gpu = asked.gpu;
  spec.question.gpus = asked.gpus;
  spec.question.seq = asked.sequence;
  spec.question.global_batch = asked.batch;
  spec.question.framework = asked.framework;
  return spec;
}

std::string said(const Asked& a) {
  return std::string(a.model) + " on " + a.gpus + " x " + a.gpu + ", " + a.framework;
}

// On some sizes nothing is legal, on some nothing fits, some cross nodes.
const std::vector<Asked> kAsked{
    {"llama3-8b", "h100-sxm", "1:16", "4096", "48", "generic"},
    {"llama3-8b", "a100-40gb-sxm", "1:20", "4096", "60", "megatron"},
    {"llama3-70b", "h100-sxm", "8:48:4", "4096", "96", "megatron"},
    {"gpt-oss-120b", "b200", "1:16", "8192", "16", "megatron"},
    {"llama3-70b", "h100-sxm", "1:5", "4096", "16", "generic"},
};

QuestionOfSize sizes_of(const PlanSpec& spec) {
  return [spec](std::int64_t gpus) { return question_of_size(spec, catalog(), gpus).value(); };
}

Objective objective(ObjectiveKind kind) {
  Objective o;
  o.kind = kind;
  o.told = true;
  o.budget = tokens(1e12);
  o.price = {usd_per_hour(2), {}};
  o.watts = {700, {}};
  if (kind == ObjectiveKind::kGpus) o.deadline = seconds(200 * 86400.0);
  return o;
}

/// Smaller is better.
double badness(const Objective& o, const Estimate& e) {
  const double value = objective_value(o, e).value;
  return o.kind == ObjectiveKind::kTokensPerGpu ? -value : value;
}

/// The best plan of every size.
std::vector<Estimate> best_of_each(const Asked& asked, const PlanQuestion& question) {
  std::vector<Estimate> all;
  for (std::int64_t gpus = question.sizes->first(); gpus <= question.sizes->most;
       gpus += question.sizes->step) {
    const auto one = question_of_size(spec_of(asked), catalog(), gpus);
    if (!one) continue;
    const auto best = search(Estimator(*one), one->fixed).best;
    if (best) all.push_back(*best);
  }
  return all;
}

/// Of the best plans of all sizes, by GPUs: the first that is better than all before it by more than
/// rounding.
const Estimate* best_by(const Objective& o, const std::vector<Estimate>& sizes) {
  const Estimate* best = nullptr;
  for (const Estimate& e : sizes) {
    if (!run_totals(o, e).in_time) continue;
    if (best == nullptr || badness(o, e) < badness(o, *best) - 1e-12 * std::abs(badness(o, *best))) best = &e;
  }
  return best;
}

TEST(Sizes, TheBestIsThatOfEverySize) {
  for (const Asked& asked : kAsked) {
    const PlanSpec spec = spec_of(asked);
    const PlanQuestion question = build_plan_question(spec, catalog()).value();
    const std::vector<Estimate> all = best_of_each(asked, question);
    for (int kind = 0; kind < kObjectiveKindCount; ++kind) {
      const Objective o = objective(static_cast<ObjectiveKind>(kind));
      const SizeSearch found = best_size(*question.sizes, o, question.question, {sizes_of(spec)});
      const SizeCensus& c = found.census;
      EXPECT_EQ(c.sizes, question.sizes->count()) << said(asked);
      EXPECT_EQ(c.sizes, c.illegal + c.excluded + c.searched) << said(asked) << ", " << name(o.kind);
      const Estimate* best = best_by(o, all);
      EXPECT_EQ(found.in_time, best != nullptr || all.empty()) << said(asked) << ", " << name(o.kind);
      if (best == nullptr) continue;
      ASSERT_TRUE(found.best) << said(asked) << ", " << name(o.kind);
      EXPECT_EQ(found.gpus, best->plan.gpus()) << said(asked) << ", " << name(o.kind);
      EXPECT_EQ(canonical(found.best->plan), canonical(best->plan)) << said(asked) << ", " << name(o.kind);
    }
  }
}

TEST(Sizes, ADeadlineThatNoSizeMeetsLeavesTheSoonest) {
  const PlanSpec spec = spec_of(kAsked.front());
  const PlanQuestion question = build_plan_question(spec, catalog()).value();
  Objective o = objective(ObjectiveKind::kCost);
  o.deadline = seconds(60);
  const SizeSearch found = best_size(*question.sizes, o, question.question, {sizes_of(spec)});
  EXPECT_FALSE(found.in_time);
  const auto all = best_of_each(kAsked.front(), question);
  EXPECT_EQ(found.gpus, best_by(objective(ObjectiveKind::kStepTime), all)->plan.gpus());
}

/// The question in each of its precisions that is possible.
std::vector<PlanSpec> precisions_of(const PlanSpec& spec, const PlanQuestion& question) {
  std::vector<PlanSpec> specs;
  for (const AskedPrecision& p : question.precisions) {
    if (p.impossible.empty()) specs.push_back(in_precision(spec, p.name));
  }
  return specs;
}

// A device that has them all, one that has some; nothing fits on some sizes.
const std::vector<std::pair<Asked, const char*>> kInPrecisions{
    {{"llama3-8b", "h100-sxm", "1:12", "4096", "24", "megatron"}, "any"},
    {{"llama3-70b", "b200", "8:24:8", "4096", "48", "megatron"}, "bf16,mxfp8,nvfp4"},
    {{"llama3-70b", "h100-sxm", "8:24:8", "4096", "48", "generic"}, "fp8,bf16"},
    {{"gpt-oss-120b", "h100-sxm", "8:16:4", "4096", "16", "generic"}, "fp8,bf16"},
};

TEST(Sizes, TheBestInSeveralPrecisionsIsThatOfEachOfThem) {
  for (const auto& [asked, precisions] : kInPrecisions) {
    PlanSpec spec = spec_of(asked);
    spec.question.precision = precisions;
    const PlanQuestion question = build_plan_question(spec, catalog()).value();
    std::vector<QuestionOfSize> questions;
    for (const PlanSpec& one : precisions_of(spec, question)) questions.push_back(sizes_of(one));
    ASSERT_GT(questions.size(), 1U);
    for (int kind = 0; kind < kObjectiveKindCount; ++kind) {
      const Objective o = objective(static_cast<ObjectiveKind>(kind));
      const SizeSearch found = best_size(*question.sizes, o, question.question, questions);
      const SizeCensus& c = found.census;
      EXPECT_EQ(c.sizes, static_cast<std::int64_t>(questions.size()) * question.sizes->count());
      EXPECT_EQ(c.sizes, c.illegal + c.excluded + c.searched) << said(asked) << ", " << name(o.kind);
      double best = std::numeric_limits<double>::infinity();
      bool fits = false;
      for (const QuestionOfSize& one : questions) {
        const SizeSearch alone = best_size(*question.sizes, o, question.question, {one});
        fits = fits || alone.best;
        if (alone.best && alone.in_time) best = std::min(best, badness(o, *alone.best));
      }
      ASSERT_EQ(found.best.has_value(), fits) << said(asked);
      EXPECT_EQ(found.best && found.in_time, !std::isinf(best)) << said(asked) << ", " << name(o.kind);
      if (std::isinf(best)) continue;
      EXPECT_NEAR(badness(o, *found.best), best, 1e-12 * std::abs(best))
          << said(asked) << ", " << name(o.kind);
    }
  }
}

TEST(Sizes, TheBestOfEachPrecisionIsThatOfEveryPlan) {
  for (const auto& [asked, precisions] : kInPrecisions) {
    Asked one_size = asked;
    one_size.gpus = "8";
    PlanSpec spec = spec_of(one_size);
    spec.question.precision = precisions;
    spec.question.schedule = "1f1b,zb-v";
    const PlanQuestion asked_of_all = build_plan_question(spec, catalog()).value();
    std::vector<Question> questions;
    for (const AskedPrecision& p : asked_of_all.precisions) {
      if (p.impossible.empty()) questions.push_back(p.of_size(8));
    }
    const auto found = best_of_each(questions);
    ASSERT_EQ(found.size(), questions.size());
    for (std::size_t i = 0; i < questions.size(); ++i) {
      const Estimator estimator(questions[i]);
      std::optional<Estimate> best;
      estimator.space().for_each(questions[i].fixed, [&](const Plan& plan) {
        const Outcome outcome = estimator.estimate(plan);
        const Estimate* e = std::get_if<Estimate>(&outcome);
        if (e != nullptr && (!best || better(*e, *best))) best = *e;
      });
      ASSERT_EQ(found[i].has_value(), best.has_value()) << said(one_size);
      if (!best) continue;
      EXPECT_EQ(canonical(found[i]->plan), canonical(best->plan)) << said(one_size);
      EXPECT_EQ(found[i]->step, best->step) << said(one_size);
    }
  }
}

TEST(Sizes, MoreGpusToChooseFromNeverTakeLonger) {
  const PlanSpec spec = spec_of(kAsked.front());
  const PlanQuestion question = build_plan_question(spec, catalog()).value();
  double step = std::numeric_limits<double>::infinity();
  for (std::int64_t most = 1; most <= question.sizes->most; ++most) {
    const SizeSearch found = best_size({1, most, 1}, {}, question.question, {sizes_of(spec)});
    if (!found.best) continue;
    EXPECT_LE(found.best->step.raw(), step) << most;
    step = found.best->step.raw();
  }
  EXPECT_LT(step, std::numeric_limits<double>::infinity());
}

/// The sizes of a question, the last of so many calls being the one at which the search is stopped.
QuestionOfSize stopping_at(int calls, const PlanSpec& spec, SearchWatch& watch) {
  return [=, &watch, left = calls](std::int64_t gpus) mutable {
    if (--left == 0) watch.stop = true;
    return question_of_size(spec, catalog(), gpus).value();
  };
}

TEST(Sizes, StoppedItHasTheBestOfThoseThatWereSearched) {
  int found = 0;
  for (const Asked& asked : kAsked) {
    const PlanSpec spec = spec_of(asked);
    const PlanQuestion question = build_plan_question(spec, catalog()).value();
    const int legal = static_cast<int>(legal_sizes(*question.sizes, question.question).size());
    for (int kind = 0; kind < kObjectiveKindCount; ++kind) {
      const Objective o = objective(static_cast<ObjectiveKind>(kind));
      const SizeSearch whole = best_size(*question.sizes, o, question.question, {sizes_of(spec)});
      EXPECT_FALSE(whole.stopped);
      EXPECT_EQ(whole.census.left, 0);
      if (whole.census.searched < 2 || !whole.in_time) continue;
      SearchWatch watch;  // as many calls for the bounds, then one for each size that is searched
      const SizeSearch part =
          best_size(*question.sizes, o, question.question, {stopping_at(legal + 2, spec, watch)},
                    SearchOptions{.watch = &watch});
      const SizeCensus& c = part.census;
      EXPECT_TRUE(part.stopped) << said(asked) << ", " << name(o.kind);
      EXPECT_LE(c.searched, 1) << said(asked) << ", " << name(o.kind);  // none where a bound excludes it yet
      EXPECT_GT(c.left, 0) << said(asked) << ", " << name(o.kind);
      EXPECT_EQ(c.sizes, c.illegal + c.excluded + c.searched + c.left) << said(asked);
      if (!part.best) continue;
      ++found;
      EXPECT_GE(badness(o, *part.best), badness(o, *whole.best) * (1 - 1e-12)) << said(asked);
    }
  }
  EXPECT_GT(found, 2);
}

TEST(Sizes, StoppedAtItsBoundsItHasNoPlanAndSaysOfNoSizeThatNothingFits) {
  const PlanSpec spec = spec_of(kAsked.front());
  const PlanQuestion question = build_plan_question(spec, catalog()).value();
  SearchWatch watch;
  const SizeSearch found = best_size(*question.sizes, {}, question.question, {stopping_at(2, spec, watch)},
                                     SearchOptions{.watch = &watch});
  EXPECT_TRUE(found.stopped);
  EXPECT_FALSE(found.best);
  EXPECT_EQ(found.census.unfit, 0);
  EXPECT_EQ(found.census.left, found.census.sizes) << "none was searched or excluded";
}

struct Figures {
  std::int64_t gpus;
  double step, free;
};

/// Every plan of every size, then those that none beats.
std::vector<Figures> front_of_all(const Asked& asked, const GpuRange& range) {
  std::vector<Figures> front;
  for (std::int64_t gpus = range.first(); gpus <= range.most; gpus += range.step) {
    const auto question = question_of_size(spec_of(asked), catalog(), gpus);
    if (!question) continue;
    const Estimator estimator(*question);
    std::vector<Figures> all;
    estimator.space().for_each(question->fixed, [&](const Plan& plan) {
      const Outcome outcome = estimator.estimate(plan);
      if (const Estimate* e = std::get_if<Estimate>(&outcome))
        all.push_back({gpus, e->step.raw(), e->headroom().raw()});
    });
    std::sort(all.begin(), all.end(), [](const Figures& a, const Figures& b) {
      return a.step != b.step ? a.step < b.step : a.free > b.free;
    });
    // Amounts as near as the search takes them for one.
    const double near = 1e-9 * estimator.usable<double>().raw();
    for (const Figures& f : all) {
      const bool beaten = std::any_of(front.begin(), front.end(), [&](const Figures& other) {
        return other.step <= f.step * (1 + 1e-12) && other.free >= f.free - near;
      });
      if (!beaten) front.push_back(f);
    }
  }
  return front;
}

TEST(ParetoFront, StoppedItHasThoseOfTheSizesBefore) {
  const PlanSpec spec = spec_of(kAsked.front());
  const PlanQuestion question = build_plan_question(spec, catalog()).value();
  SearchWatch watch;
  const ParetoFront part = pareto_front({1, 8, 1}, question.question, stopping_at(4, spec, watch), &watch);
  const ParetoFront whole = pareto_front({1, 8, 1}, question.question, {sizes_of(spec)});
  EXPECT_TRUE(part.stopped);
  EXPECT_FALSE(whole.stopped);
  ASSERT_FALSE(part.plans.empty());
  ASSERT_LT(part.plans.size(), whole.plans.size());
  for (std::size_t i = 0; i < part.plans.size(); ++i)
    EXPECT_EQ(canonical(part.plans[i].plan), canonical(whole.plans[i].plan));
}

TEST(ParetoFront, IsThatOfAllPlans) {
  for (const Asked& asked : {Asked{"llama3-8b", "h100-sxm", "1:6", "4096", "12", "generic"},
                             Asked{"llama3-8b", "a100-40gb-sxm", "4:12:4", "4096", "24", "megatron"},
                             Asked{"gpt-oss-120b", "b200", "4:12:4", "4096", "8", "megatron"}}) {
    const PlanSpec spec = spec_of(asked);
    const PlanQuestion question = build_plan_question(spec, catalog()).value();
    const std::vector<Figures> expected = front_of_all(asked, *question.sizes);
    const std::vector<Estimate> found =
        pareto_front(*question.sizes, question.question, sizes_of(spec)).plans;
    EXPECT_GT(expected.size(), 3U) << said(asked);
    ASSERT_EQ(found.size(), expected.size()) << said(asked);
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].plan.gpus(), expected[i].gpus) << said(asked);
      EXPECT_NEAR(found[i].step.raw(), expected[i].step, 1e-9 * expected[i].step) << said(asked);
      EXPECT_NEAR(found[i].headroom().raw(), expected[i].free, 1e3) << said(asked);
    }
  }
}

}  // namespace
}  // namespace shardplan
