// Properties of the whole estimate: both readings agree bit for bit, totals are sums, more of anything is
// never worse.
#include "estimate/estimator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "estimate/test_questions.h"
#include "search/search.h"

namespace shardplan {
namespace {

Question moe_question(std::int64_t gpus) {
  Question q = llama3_8b_question(4096, gpus);
  q.model.name = "mixture";
  for (std::size_t i = 1; i < q.model.layers.size(); ++i) {
    q.model.layers[i].mlp =
        MoeMlp{.experts = 16, .top_k = 2, .width = 4096, .shared_width = 4096, .shared_gate = false};
  }
  return q;
}

std::vector<Question> questions() {
  std::vector<Question> all;
  for (Question q : {llama3_8b_question(8192, 64), moe_question(64)}) {
    q.workload.global_batch = 128;
    q.activations = ActivationModel::kOps;
    q.cluster.device.efficiency.contention = test_value(ratio(0.4));
    q.cluster.device.efficiency.kernel_launch = test_value(microseconds(5));
    all.push_back(q);
    q.activations = ActivationModel::kPaper;
    all.push_back(q);
  }
  return all;
}

/// Every so-manieth legal plan.
std::vector<Plan> sample(const Estimator& estimator, std::size_t every) {
  std::vector<Plan> plans;
  std::size_t at = 0;
  estimator.space().for_each({}, [&](const Plan& p) {
    if (at++ % every == 0) plans.push_back(p);
  });
  return plans;
}

std::uint64_t bits(double v) { return std::bit_cast<std::uint64_t>(v); }

TEST(EstimatorProperty, TracedEqualsDoubleBitForBit) {
  for (const Question& q : questions()) {
    const Estimator estimator(q);
    const std::vector<Plan> plans = sample(estimator, 211);
    ASSERT_GT(plans.size(), 20u);
    for (const Plan& p : plans) {
      int a = 0, b = 0;
      const auto memory = estimator.fullest_memory<double>(p, a);
      const auto traced = estimator.fullest_memory<Traced>(p, b);
      EXPECT_EQ(a, b);
      EXPECT_EQ(bits(memory.total().raw()), bits(value_of(traced.total()))) << canonical(p);
      EXPECT_EQ(bits(estimator.time<double>(p).total().raw()),
                bits(value_of(estimator.time<Traced>(p).total())))
          << canonical(p);
    }
  }
}

TEST(EstimatorProperty, HiddenIsNeverMoreThanSpentAndNothingIsNegative) {
  for (const Question& q : questions()) {
    const Estimator estimator(q);
    for (const Plan& p : sample(estimator, 97)) {
      const TimeBreakdown<> time = estimator.time<double>(p);
      for (std::size_t i = 0; i < kTimeTermCount; ++i) {
        const TimeEntry<>& e = time.terms[i];
        EXPECT_TRUE(std::isfinite(e.time.raw())) << name(static_cast<TimeTerm>(i)) << " " << canonical(p);
        EXPECT_GE(e.time.raw(), 0);
        EXPECT_GE(e.hidden.raw(), 0);
        EXPECT_GE(e.exposed().raw(), -1e-12 * e.time.raw());
      }
      int stage = 0;
      for (const Bytes<> term : estimator.fullest_memory<double>(p, stage).terms) EXPECT_GE(term.raw(), 0);
    }
  }
}

TEST(EstimatorProperty, TensorTrafficOnlyWithTensorParallelism) {
  for (const Question& q : questions()) {
    const Estimator estimator(q);
    for (const Plan& p : sample(estimator, 61)) {
      const TimeBreakdown<> time = estimator.time<double>(p);
      EXPECT_EQ(time[TimeTerm::kTensor].time.raw() > 0, p.tp > 1) << canonical(p);
      EXPECT_EQ(time[TimeTerm::kContext].time.raw() > 0, p.cp > 1) << canonical(p);
      EXPECT_EQ(time[TimeTerm::kBubble].time.raw() > 0, p.pp > 1) << canonical(p);
      EXPECT_EQ(time[TimeTerm::kData].time.raw() > 0, p.dp * p.cp > 1) << canonical(p);
      EXPECT_EQ(time[TimeTerm::kRecompute].time.raw() > 0, p.recompute != Recompute::kNone) << canonical(p);
    }
  }
}

/// The best plan of a changed question may not be slower, nor may it cease to exist.
void expect_not_worse(const Question& before, const Question& after, const char* what) {
  const Estimator a(before), b(after);
  const SearchResult x = search(a, {}), y = search(b, {});
  ASSERT_TRUE(x.best.has_value()) << what;
  ASSERT_TRUE(y.best.has_value()) << what;
  EXPECT_LE(y.best->step.raw(), x.best->step.raw() * (1 + 1e-12)) << what;
}

TEST(EstimatorProperty, MoreIsNeverWorse) {
  for (const Question& q : questions()) {
    Question more = q;
    more.cluster.tiers[1].bandwidth.value = gigabytes_per_s(100);
    expect_not_worse(q, more, "network bandwidth");
    more = q;
    more.cluster.tiers[0].bandwidth.value = gigabytes_per_s(900);
    expect_not_worse(q, more, "node bandwidth");
    more = q;
    more.cluster.tiers[1].latency.value = microseconds(1);
    expect_not_worse(q, more, "network latency");
    more = q;
    more.cluster.device.memory_reported.value = gibibytes(288);
    expect_not_worse(q, more, "memory");
    more = q;
    more.cluster.device.peak[static_cast<std::size_t>(Precision::kBf16)] = test_value(teraflops_per_s(800));
    expect_not_worse(q, more, "peak");
    more = q;
    more.cluster.tiers[1].oversubscription = test_value(ratio(1));
    Question less = q;
    less.cluster.tiers[1].oversubscription = test_value(ratio(7));
    expect_not_worse(less, more, "oversubscription");
  }
}

TEST(EstimatorProperty, TheSearchKeepsTheFastestFeasiblePlan) {
  for (const Question& q : questions()) {
    const Estimator estimator(q);
    const SearchResult result = search(estimator, {}, SearchOptions{.runners_up = 5});
    ASSERT_TRUE(result.best.has_value());
    std::int64_t feasible = 0, rejected = 0;
    double fastest = result.best->step.raw();
    estimator.space().for_each({}, [&](const Plan& p) {
      const Outcome outcome = estimator.estimate(p);
      if (const auto* e = std::get_if<Estimate>(&outcome)) {
        ++feasible;
        EXPECT_GE(e->step.raw(), fastest) << canonical(p);
      } else {
        ++rejected;
      }
    });
    // What bounds exclude is neither counted as fitting nor as rejected.
    EXPECT_EQ(feasible + rejected, result.census.considered);
    EXPECT_LE(result.census.feasible, feasible);
    std::int64_t counted = 0;
    for (const std::int64_t n : result.census.rejected) counted += n;
    EXPECT_LE(counted, rejected);
    EXPECT_EQ(result.census.judged(), result.census.feasible + counted);
    for (std::size_t i = 1; i < result.runners_up.size(); ++i) {
      EXPECT_FALSE(better(result.runners_up[i], result.runners_up[i - 1]));
    }
  }
}

TEST(EstimatorProperty, NoPlanKeepsLessStateThanTheFloor) {
  for (const Question& q : questions()) {
    const Estimator estimator(q);
    const double floor = value_of(estimator.state_total<double>()) / static_cast<double>(q.cluster.gpus);
    estimator.space().for_each({}, [&](const Plan& p) {
      double most = 0;
      for (int s = 0; s < p.pp; ++s) {
        most = std::max(most, estimator.stage_memory<double>(p, s).state().raw());
      }
      EXPECT_GE(most, floor * (1 - 1e-12)) << canonical(p);
    });
  }
}

}  // namespace
}  // namespace shardplan
