#include "import/cluster_build.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "import/question.h"
#include "import/test_catalog.h"

namespace shardplan {
namespace {

Cluster cluster_of(QuestionSpec spec, std::int64_t gpus) {
  spec.purpose = Purpose::kPlan;
  spec.model = "llama3-8b";
  spec.gpus = std::to_string(gpus);
  const Result<Question> question = build_question(spec, test_catalog());
  EXPECT_TRUE(question);
  return question ? question->cluster : Cluster{};
}

TEST(SetGpus, IsTheClusterThatWouldBeAskedForWithSoMany) {
  QuestionSpec usual, by_hand, rack;
  usual.gpu = by_hand.gpu = "h100";
  by_hand.bw_inter = "25";
  by_hand.latency_inter = "9";
  rack.gpu = "gb200";
  for (const QuestionSpec& spec : {usual, by_hand, rack, QuestionSpec{}}) {
    for (const std::int64_t from : {4, 8, 16, 144}) {
      Cluster changed = cluster_of(spec, from);
      for (const std::int64_t to : {8, 144, 16, 4}) {
        const Cluster there = cluster_of(spec, to);
        set_gpus(changed, to);
        EXPECT_EQ(changed.gpus, there.gpus);
        ASSERT_EQ(changed.tiers.size(), there.tiers.size()) << from << " to " << to;
        for (std::size_t i = 0; i < there.tiers.size(); ++i) {
          EXPECT_EQ(changed.tiers[i].name, there.tiers[i].name);
          EXPECT_EQ(changed.tiers[i].bandwidth.value, there.tiers[i].bandwidth.value);
          EXPECT_EQ(changed.tiers[i].latency.value, there.tiers[i].latency.value);
        }
        EXPECT_GE(changed.tiers.back().size, changed.gpus);
      }
    }
  }
}

TEST(SetGpus, WhereNothingJoinsTwoNodesTheOneGrows) {
  QuestionSpec spec;
  spec.gpu = "lonely";
  Cluster alone = cluster_of(spec, 1);
  EXPECT_TRUE(alone.beyond.empty());
  set_gpus(alone, 4);
  ASSERT_EQ(alone.tiers.size(), 1U);
  EXPECT_EQ(alone.tiers.front().size, 4);
}

}  // namespace
}  // namespace shardplan
