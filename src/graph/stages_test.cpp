#include "graph/stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardplan {
namespace {

using testing::ElementsAre;

std::vector<std::int64_t> dealt(std::int64_t layers, const Plan& plan) {
  std::vector<std::int64_t> counts;
  std::int64_t next = 0;
  for (std::int64_t chunk = 0; chunk < all_chunks(plan); ++chunk) {
    const LayerRange range = chunk_layers(layers, plan, chunk);
    EXPECT_EQ(range.first, next);
    next = range.last;
    counts.push_back(range.count());
  }
  EXPECT_EQ(next, layers);
  return counts;
}

Plan stages(std::int32_t pp, std::int16_t first, std::int16_t last) {
  Plan p;
  p.pp = pp;
  p.first_layers = first;
  p.last_layers = last;
  return p;
}

TEST(Stages, EvenlyUnlessAnEndIsToldApart) {
  EXPECT_THAT(dealt(14, stages(4, Plan::kEven, Plan::kEven)), ElementsAre(4, 4, 3, 3));
  EXPECT_THAT(dealt(12, stages(4, 2, 2)), ElementsAre(2, 4, 4, 2));
  EXPECT_THAT(dealt(12, stages(4, 3, Plan::kEven)), ElementsAre(3, 3, 3, 3));
  EXPECT_THAT(dealt(12, stages(4, Plan::kEven, 1)), ElementsAre(4, 4, 3, 1));
  EXPECT_THAT(dealt(15, stages(8, 3, 0)), ElementsAre(3, 2, 2, 2, 2, 2, 2, 0));
  EXPECT_THAT(dealt(6, stages(2, 4, 2)), ElementsAre(4, 2)) << "nothing between the ends";
}

TEST(Stages, EqualChunks) {
  EXPECT_TRUE(equal_chunks(12, stages(4, Plan::kEven, Plan::kEven)));
  EXPECT_FALSE(equal_chunks(14, stages(4, Plan::kEven, Plan::kEven)));
  EXPECT_FALSE(equal_chunks(12, stages(4, 2, 2)));
}

TEST(Stages, MicroBatchesTakeTurnsInGroups) {
  Plan p = stages(4, Plan::kEven, Plan::kEven);
  EXPECT_EQ(micro_batch_group(p), 4);
  p.micro_batch_group = 5;
  EXPECT_EQ(micro_batch_group(p), 5);
}

}  // namespace
}  // namespace shardplan
