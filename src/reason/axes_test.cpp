#include "reason/axes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "estimate/tier_bandwidth.h"
#include "import/question.h"
#include "reason/answer.h"
#include "reason/time_groups.h"
#include "units/format.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;

QuestionSpec of_model(const char* model, const char* gpu, const char* gpus, const char* framework = nullptr) {
  QuestionSpec s;
  s.model = model;
  s.gpu = gpu;
  s.gpus = gpus;
  if (framework != nullptr) s.framework = framework;
  return s;
}

QuestionSpec by_hand(const char* gpus) {
  QuestionSpec s;
  s.params = "175";
  s.layers = "96";
  s.hidden = "12288";
  s.heads = "96";
  s.gpus = gpus;
  s.seq = "2048";
  return s;
}

/// Trainings on links by hand, NCCL, RCCL, a torus; with every axis, ZeRO of every stage, groups inside nodes
/// and across.
std::vector<QuestionSpec> trainings() {
  std::vector<QuestionSpec> all{by_hand("64"), by_hand("16")};
  all.push_back(by_hand("64"));
  all.back().dp = "64";
  all.push_back(of_model("llama3-70b", "h100-sxm", "64"));
  all.back().seq = "8192";
  all.back().global_batch = "512";
  all.push_back(of_model("llama3-70b", "h100-sxm", "64"));
  all.back().seq = "131072";
  all.back().global_batch = "64";
  all.back().cp = "16";
  all.push_back(of_model("llama3-8b", "h100-sxm", "64", "fsdp"));
  all.back().tp = "1";
  all.push_back(of_model("llama3-8b", "h100-sxm", "64", "megatron"));
  all.back().zero = "1";
  all.back().tp = "2";
  all.push_back(of_model("llama3-8b", "a100-80gb-sxm", "16", "deepspeed"));
  all.back().zero = "2";
  all.push_back(of_model("llama3-70b", "h100-sxm", "128", "fsdp"));
  all.back().shard_group = "8";
  all.back().tp = "4";
  all.push_back(of_model("deepseek-v2-lite", "h100-sxm", "32"));
  all.push_back(of_model("llama3-70b", "mi300x", "64"));
  all.push_back(of_model("llama3-70b", "h100-sxm", "64"));
  all.back().tp = "16";
  all.back().pp = "4";
  all.push_back(of_model("llama3-8b", "tpu-v5p", "64"));
  return all;
}

struct Planned {
  explicit Planned(const QuestionSpec& spec) : question(build_question(spec, catalog()).value()) {}
  Question question;
  Estimator estimator{question};
  SearchResult result = search(estimator, question.fixed);
  const Plan& plan() const { return result.best->plan; }
};

std::size_t tier_named(const Cluster& cluster, const std::string& tier) {
  const auto at =
      std::find_if(cluster.tiers.begin(), cluster.tiers.end(), [&](const Tier& t) { return t.name == tier; });
  return static_cast<std::size_t>(at - cluster.tiers.begin());
}

/// The definition, said once more: all of it beside other work or, where nothing hides it, what is felt is a
/// tenth of compute.
bool hidden(const AxisFinding& x, const TimeBreakdown<>& time, Ratio<> contention) {
  const Seconds<> tenth = compute_time(time) * 0.1;
  const bool hides = x.required_for == "hidden";
  if (x.axis == "dp" || x.axis == "dp\u00b7cp" || x.axis == "zero") {
    const AxisCost<>& cost = x.axis == "zero" ? time.gather : time.axis(Axis::kData);
    return hides ? cost.once() <= cost.window : cost.once() * cost.occurrences <= tenth;
  }
  if (x.axis == "cp") {
    const TimeEntry<>& ring = time[TimeTerm::kContext];
    return hides ? ring.exposed() <= ring.time * (contention + ratio(1e-9)) : ring.exposed() <= tenth;
  }
  const TimeTerm term = x.axis == "tp"   ? TimeTerm::kTensor
                        : x.axis == "pp" ? TimeTerm::kPipelineSends
                                         : TimeTerm::kExpert;
  return time[term].exposed() <= tenth;
}

TimeBreakdown<> timed_with(const Planned& planned, std::size_t tier, BytesPerSecond<> bandwidth) {
  Question q = planned.question;
  // What is required is what a GPU needs to get; an oversubscribed tier has to have more.
  q.cluster.tiers[tier].bandwidth.value = bandwidth * q.cluster.tiers[tier].oversubscription.value;
  return Estimator(q).time<double>(planned.plan());
}

TEST(AxisLinks, JustBelowWhatIsRequiredItIsExposedAndJustAboveHidden) {
  int checked = 0, library = 0, none = 0;
  for (const QuestionSpec& spec : trainings()) {
    const Planned planned(spec);
    ASSERT_TRUE(planned.result.best);
    const Cluster& cluster = planned.question.cluster;
    const Ratio<> contention = cluster.device.efficiency.contention.value;
    for (const AxisFinding& x : axis_findings(planned.estimator, *planned.result.best)) {
      for (const LinkNeed& link : x.links) {
        const std::string what = planned.question.model.name + " " + canonical(planned.plan()) + " " +
                                 x.axis + " over " + link.tier;
        const std::size_t tier = tier_named(cluster, link.tier);
        EXPECT_EQ(link.available, tier_bandwidth(cluster, tier)) << what;
        if (!link.required) {
          EXPECT_FALSE(hidden(x, timed_with(planned, tier, link.available * 100.0), contention)) << what;
          ++none;
          continue;
        }
        EXPECT_FALSE(hidden(x, timed_with(planned, tier, *link.required * 0.98), contention)) << what;
        EXPECT_TRUE(hidden(x, timed_with(planned, tier, *link.required * 1.02), contention)) << what;
        // As it is printed it is enough, and it is one number.
        EXPECT_DOUBLE_EQ(parse_bandwidth(format(*link.required))->raw(), link.required->raw()) << what;
        EXPECT_TRUE(hidden(x, timed_with(planned, tier, *link.required), contention)) << what;
        const char* id = link.tier == x.tier ? "required" : "also_needs";
        EXPECT_TRUE(std::any_of(x.figures.begin(), x.figures.end(), [&](const StatedFigure& f) {
          return f.id == id && f.value == link.required->raw();
        })) << what;
        EXPECT_EQ(hidden(x, timed_with(planned, tier, link.available), contention),
                  *link.required <= link.available)
            << what;
        ++checked;
        library += cluster.collectives != nullptr ? 1 : 0;
      }
    }
  }
  EXPECT_GE(checked, 40);
  EXPECT_GE(library, 20);
  EXPECT_GE(none, 1);
}

TEST(AxisFindings, TheTierThatIsNamedIsTheOneWhoseBandwidthIsShown) {
  for (const QuestionSpec& spec : trainings()) {
    const Planned planned(spec);
    const Cluster& cluster = planned.question.cluster;
    for (const AxisFinding& x : axis_findings(planned.estimator, *planned.result.best)) {
      const std::size_t tier = tier_named(cluster, x.tier), spans = tier_named(cluster, x.spans);
      EXPECT_EQ(*x.available_bandwidth, tier_bandwidth(cluster, tier)) << x.axis;
      EXPECT_LE(tier, spans) << x.axis;
      const auto main = std::find_if(x.links.begin(), x.links.end(),
                                     [&](const LinkNeed& link) { return link.tier == x.tier; });
      ASSERT_NE(main, x.links.end()) << x.axis;
      EXPECT_EQ(main->required, x.required_bandwidth) << x.axis;
      EXPECT_EQ(x.links.back().tier, x.spans) << x.axis;
    }
  }
}

TEST(AxisFindings, UsedAndUnusedAreAllOfThemAndZeroIsOne) {
  for (const QuestionSpec& spec : trainings()) {
    const Planned planned(spec);
    std::vector<std::string> names;
    for (const AxisFinding& x : axis_findings(planned.estimator, *planned.result.best)) {
      if (x.axis != "dp\u00b7cp") names.push_back(x.axis);
      EXPECT_FALSE(x.figures.empty()) << x.reason;
      if (x.axis != "zero") continue;
      EXPECT_EQ(x.degree, degree_of(planned.plan(), Degree::kShardGroup));
      EXPECT_THAT(x.reason, HasSubstr("stage " + std::to_string(planned.plan().zero_stage) + " over "));
    }
    for (const UnusedAxis& x : unused_axes(planned.estimator, planned.question.fixed, planned.result).found)
      names.push_back(x.axis);
    EXPECT_THAT(names, testing::UnorderedElementsAre("dp", "zero", "tp", "pp", "cp", "ep"))
        << canonical(planned.plan());
  }
}

TEST(AxisFindings, GradientsAreReducedOverTheRanksOfASequenceWithoutReplicasToo) {
  QuestionSpec spec = of_model("llama3-8b", "h100-sxm", "8", "megatron");
  spec.seq = "131072";
  spec.global_batch = "8";
  spec.cp = "8";
  spec.recompute = "full";
  const Planned planned(spec);
  ASSERT_EQ(planned.plan().dp, 1);
  const std::vector<AxisFinding> found = axis_findings(planned.estimator, *planned.result.best);
  const AxisFinding* x = gradient_reduction(found);
  ASSERT_NE(x, nullptr);
  EXPECT_EQ(x->axis, "dp\u00b7cp");
  EXPECT_EQ(x->degree, 8);
  EXPECT_THAT(x->reason, HasSubstr("over dp 1 x cp 8 = 8 ranks"));
  ASSERT_TRUE(x->required_bandwidth);
  const std::size_t tier = tier_named(planned.question.cluster, x->tier);
  const Ratio<> contention = planned.question.cluster.device.efficiency.contention.value;
  EXPECT_FALSE(hidden(*x, timed_with(planned, tier, *x->required_bandwidth * 0.98), contention));
  EXPECT_TRUE(hidden(*x, timed_with(planned, tier, *x->required_bandwidth * 1.02), contention));
}

TEST(AxisFindings, NameTheTierWhereHidingTurnsFirst) {
  const AxisLink wide{0, gigabytes_per_s(360), gigabytes_per_s(156), {}},
      narrow{1, gigabytes_per_s(45.75), gigabytes_per_s(22.35), {}},
      never{0, gigabytes_per_s(360), std::nullopt, {}},
      lacking{1, gigabytes_per_s(45.75), gigabytes_per_s(68.9), {}};
  EXPECT_EQ(pacing(std::array{wide, narrow}, 0), 1U) << "360 / 156 is more than 45.75 / 22.35";
  EXPECT_EQ(pacing(std::array{never, lacking}, 0), 1U) << "no bandwidth of the other is enough";
  EXPECT_EQ(pacing(std::array{never}, 0), 0U);
}

TEST(UnusedAxes, WithoutZeroWhatItWouldHaveCost) {
  const Planned free(of_model("llama3-8b", "h100-sxm", "8", "megatron"));
  FixedAxes none = free.question.fixed, some = free.question.fixed;
  none.zero_stage = std::int8_t{0};
  some.bounds_of(Degree::kZero).least = 1;
  const SearchResult without = search(free.estimator, none), with = search(free.estimator, some);
  ASSERT_TRUE(without.best);
  ASSERT_TRUE(with.best);
  const auto zero_of = [](const UnusedAxes& unused) {
    for (const UnusedAxis& x : unused.found)
      if (x.axis == "zero") return x;
    return UnusedAxis{};
  };
  const UnusedAxis zero = zero_of(unused_axes(free.estimator, free.question.fixed, without));
  EXPECT_EQ(zero.plan, with.best->plan);
  EXPECT_THAT(zero.reason, HasSubstr(canonical(with.best->plan)));
  EXPECT_EQ(zero_of(unused_axes(free.estimator, none, without)).reason, "told to be 0");
}

}  // namespace
}  // namespace shardplan
