// What a way to serve accepts: when each kind applies, and that its level is where the formulas turn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "import/flag_list.h"
#include "reason/serve_findings.h"

namespace shardplan {
namespace {

struct Served {
  explicit Served(const FlagList& more) {
    FlagList flags{{"--params", "175"}, {"--layers", "96"}, {"--hidden", "12288"}, {"--heads", "96"},
                   {"--seq", "2048"},   {"--gpus", "64"},   {"--pp", "1"}};
    flags.insert(flags.end(), more.begin(), more.end());
    answer = serve_answer(serve_question_from_flags(flags, catalog()).value());
  }
  ServeAnswer answer;
  const ServePlan& plan() const { return answer.shown(); }
  const FailureMode* find(const std::string& id) const {
    const auto& modes = answer.findings.failure_modes;
    const auto at = std::find_if(modes.begin(), modes.end(), [&](const auto& m) { return m.id == id; });
    return at == modes.end() ? nullptr : &*at;
  }
  double level(const std::string& id) const { return find(id)->level.value().value; }
};

const Served& node() {
  static const Served served({{"--tp", "8"}, {"--batch", "8"}, {"--tpot-ms", "25"}});
  return served;
}
const Served& pair() {
  static const Served served({{"--tp", "2"}, {"--batch", "4"}});
  return served;
}

TEST(ServeFailureModes, EachAppliesToOneWayAndNotToAnother) {
  const Served alone({{"--tp", "4"}, {"--batch", "1"}});
  const struct {
    const char* id;
    const Served &with, &without;
  } kinds[] = {{"prefill_interference", node(), alone},
               {"cache_full", pair(), node()},
               {"margin", node(), pair()},
               {"small_message_latency", node(), Served({{"--tp", "2"}, {"--batch", "1"}})}};
  for (const auto& kind : kinds) {
    EXPECT_NE(kind.with.find(kind.id), nullptr) << kind.id;
    EXPECT_EQ(kind.without.find(kind.id), nullptr) << kind.id;
  }
  EXPECT_TRUE(Served(FlagList{{"--tp", "1"}}).answer.findings.failure_modes.empty())
      << "the weights do not fit";
}

TEST(ServeFailureModes, PromptsAtTheLevelTakeAllThatTheLimitLeaves) {
  const TokenTime<>& t = node().plan().cost.time;
  const double busy = node().level("prefill_interference") * t.prompt().raw();
  EXPECT_NEAR(t.step().raw() / (1 - busy), 0.025, 1e-9);
}

TEST(ServeFailureModes, OneTokenMoreThanTheLevelDoesNotFitInTheCache) {
  ServeQuestion q = pair().answer.question;
  const auto fits = [&](double context) {
    q.input = context;
    return serve_plan(q, pair().plan().split, 1).fits;
  };
  EXPECT_TRUE(fits(pair().level("cache_full")));
  // The level is in whole requests of the told length.
  EXPECT_FALSE(fits(pair().level("cache_full") + 2048));
}

TEST(ServeFailureModes, AllReducesOfTheLevelTakeTheTokenToItsLimit) {
  const AllReduces<>& now = node().plan().cost.time.all_reduces;
  ServeQuestion q = node().answer.question;
  const Seconds<> latency = seconds(node().level("small_message_latency")) - now.one.bandwidth_term;
  Sourced<Seconds<>>& hop = q.question.cluster.tiers[now.tier].latency;
  hop.value = hop.value * (latency / now.one.latency_term);
  EXPECT_NEAR(judged_again(q, node().plan()).cost.tpot.raw(), 0.025, 1e-6);
}

TEST(ServeFailureModes, TheMarginIsWhatTheLimitLeaves) {
  EXPECT_DOUBLE_EQ(node().level("margin"), 0.025 - node().plan().cost.tpot.raw());
}

}  // namespace
}  // namespace shardplan
