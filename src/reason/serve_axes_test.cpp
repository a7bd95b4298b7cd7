// What serving's axes need is where the engine turns: asked again at 0.98 and at 1.02 times it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "estimate/tier_bandwidth.h"
#include "import/flag_list.h"
#include "reason/serve_findings.h"
#include "units/format.h"

namespace shardplan {
namespace {

using testing::HasSubstr;

struct Served {
  explicit Served(const FlagList& flags)
      : question(serve_question_from_flags(flags, catalog()).value()), answer(serve_answer(question)) {}
  ServeQuestion question;
  ServeAnswer answer;
  const ServePlan& shown() const { return answer.shown(); }
  const AxisFinding* axis(const std::string& name) const {
    const auto& axes = answer.findings.axes;
    const auto at = std::find_if(axes.begin(), axes.end(), [&](const auto& x) { return x.axis == name; });
    return at == axes.end() ? nullptr : &*at;
  }
  /// The shown plan on another machine.
  ServePlan on(const Cluster& cluster) const {
    ServeQuestion other = question;
    other.question.cluster = cluster;
    return judged_again(other, shown());
  }
};

std::vector<FlagList> loads() {
  const FlagList by_hand{{"--params", "175"}, {"--layers", "96"}, {"--hidden", "12288"}, {"--heads", "96"},
                         {"--seq", "2048"},   {"--gpus", "64"},   {"--pp", "1"}};
  const FlagList llama{{"--preset", "llama3-70b"},
                       {"--gpu", "h100-sxm"},
                       {"--gpus", "16"},
                       {"--pp", "1"},
                       {"--engine", "generic"}};
  const auto with = [](FlagList flags, const FlagList& more) {
    flags.insert(flags.end(), more.begin(), more.end());
    return flags;
  };
  return {with(by_hand, {{"--tp", "8"}, {"--batch", "8"}, {"--tpot-ms", "25"}}),
          with(by_hand, {{"--tp", "8"}, {"--batch", "64"}}),
          with(by_hand, {{"--tp", "16"}, {"--batch", "8"}, {"--tpot-ms", "60"}}),
          with(by_hand, {{"--tp", "8"}, {"--batch", "64"}, {"--tpot-ms", "33"}}),
          with(llama, {{"--tp", "8"}, {"--batch", "64"}, {"--tpot-ms", "30"}}),
          with(llama, {{"--tp", "4"}, {"--batch", "16"}}),
          with(llama, {{"--tp", "16"}, {"--batch", "64"}, {"--tpot-ms", "30"}})};
}

/// The definition, said once more.
bool enough(const ServeQuestion& q, const ServePlan& p) {
  const Seconds<> reduces = p.cost.time.all_reduces.total();
  return q.tpot_limit ? p.cost.tpot <= *q.tpot_limit : reduces <= (p.cost.tpot - reduces) * 0.1;
}

TEST(ServeAxes, JustBelowTheBandwidthThatIsNeededItIsNotEnoughAndJustAboveItIs) {
  int checked = 0, none = 0;
  for (const FlagList& flags : loads()) {
    const Served served(flags);
    const AxisFinding& x = *served.axis("tp");
    EXPECT_EQ(x.required_for, served.question.tpot_limit ? "tpot_limit" : "share_of_token");
    ASSERT_FALSE(x.links.empty());
    for (std::size_t tier = 0; tier < x.links.size(); ++tier) {
      const LinkNeed& link = x.links[tier];
      const Cluster& cluster = served.question.question.cluster;
      const auto with = [&](double factor) {
        Cluster other = cluster;
        other.tiers[tier].bandwidth.value =
            link.available * factor * other.tiers[tier].oversubscription.value;
        return enough(served.question, served.on(other));
      };
      ASSERT_EQ(link.tier, cluster.tiers[tier].name);
      EXPECT_EQ(link.available, tier_bandwidth(cluster, tier));
      if (!link.required) {
        EXPECT_FALSE(with(1000)) << x.reason;
        ++none;
        continue;
      }
      const double factor = (*link.required / link.available).raw();
      EXPECT_FALSE(with(factor * 0.98)) << x.reason;
      EXPECT_TRUE(with(factor * 1.02)) << x.reason;
      EXPECT_EQ(with(1), factor <= 1) << x.reason;
      ++checked;
    }
  }
  EXPECT_GE(checked, 6);
  EXPECT_GE(none, 1);
}

TEST(ServeAxes, BandwidthsAreEnoughAsPrintedAndOneNumber) {
  int checked = 0;
  for (const FlagList& flags : loads()) {
    const Served served(flags);
    const AxisFinding* x = served.axis("tp");
    if (x == nullptr) continue;
    for (std::size_t i = 0; i < x->links.size(); ++i) {
      const LinkNeed& link = x->links[i];
      if (!link.required) continue;
      EXPECT_DOUBLE_EQ(parse_bandwidth(format(*link.required))->raw(), link.required->raw());
      Cluster other = served.question.question.cluster;
      const auto tier = std::find_if(other.tiers.begin(), other.tiers.end(),
                                     [&](const Tier& t) { return t.name == link.tier; });
      tier->bandwidth.value = tier->bandwidth.value * (*link.required / link.available);
      EXPECT_TRUE(enough(served.question, served.on(other))) << x->reason;
      const bool main = link.tier == x->tier;
      EXPECT_THAT(x->figures, testing::Contains(testing::AllOf(
                                  testing::Field(&StatedFigure::id, main ? "required" : "also_needs"),
                                  testing::Field(&StatedFigure::value, link.required->raw()))));
      ++checked;
    }
  }
  EXPECT_GE(checked, 4);
}

TEST(ServeAxes, SoItIsWithLatency) {
  int checked = 0;
  for (const FlagList& flags : loads()) {
    const Served served(flags);
    const auto most = most_latency(served.question, served.shown());
    if (!most) continue;
    const auto with = [&](double factor) {
      Cluster other = served.question.question.cluster;
      other.tiers[served.shown().cost.time.all_reduces.tier].latency.value = *most * factor;
      return enough(served.question, served.on(other));
    };
    EXPECT_TRUE(with(0.98));
    EXPECT_FALSE(with(1.02));
    // As it is printed it keeps the limit.
    EXPECT_DOUBLE_EQ(parse_seconds(format(*most))->raw(), most->raw());
    EXPECT_TRUE(with(parse_seconds(format(*most))->raw() / most->raw()));
    EXPECT_THAT(served.axis("tp")->reason, HasSubstr("of latency a step"));
    ++checked;
  }
  EXPECT_GE(checked, 2);
}

TEST(ServeAxes, ReplicasExchangeNothing) {
  const Served served(loads().front());
  const AxisFinding& x = *served.axis("dp");
  EXPECT_EQ(x.degree, 8);
  EXPECT_EQ(x.required_bandwidth, bytes_per_s(0));
  EXPECT_TRUE(x.links.empty());
  EXPECT_THAT(x.reason, HasSubstr("replicas exchange nothing"));
}

TEST(ServeAxes, EveryOtherDegreeIsPlannedAlsoWhereOneIsTold) {
  const Served served(loads().front());
  std::vector<int> degrees;
  for (const UnusedAxis& x : served.answer.findings.not_used) {
    if (x.axis != "tp") continue;
    degrees.push_back(x.plan.value().tp);
    const ServePlan other = serve_plan(served.question, {x.plan->tp, 1, 1}, served.shown().batch);
    const auto stated = [&](const char* id) {
      const auto at =
          std::find_if(x.figures.begin(), x.figures.end(), [&](const auto& f) { return f.id == id; });
      return at == x.figures.end() ? 0.0 : at->value;
    };
    if (other.fits) {
      EXPECT_EQ(stated("token"), other.cost.tpot.raw()) << x.reason;
      EXPECT_DOUBLE_EQ(stated("times"), (other.cost.tpot / served.shown().cost.tpot).raw()) << x.reason;
      EXPECT_EQ(stated("over") > 0, !other.meets) << x.reason;
    } else {
      EXPECT_EQ(stated("memory"), other.cost.held().raw()) << x.reason;
      EXPECT_GT(stated("shortfall"), 0) << x.reason;
    }
  }
  EXPECT_THAT(degrees, testing::ElementsAre(1, 2, 4, 16, 32));
}

TEST(ServeAxes, OfAPlanThatDoesNotFitThereAreOnlyTheOtherDegrees) {
  FlagList flags = loads().front();
  for (auto& [flag, value] : flags)
    if (flag == std::string("--tp")) value = "1";
  const Served served(flags);
  EXPECT_TRUE(served.answer.findings.axes.empty());
  EXPECT_FALSE(served.answer.findings.not_used.empty());
}

}  // namespace
}  // namespace shardplan
