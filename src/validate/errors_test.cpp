#include "validate/errors.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

ValidatedRow row(const char* id, double predicted, std::vector<std::string> features = {}) {
  ValidatedRow r;
  r.id = id;
  r.source = id;
  r.measured = 100;
  r.predicted = predicted;
  r.features = std::move(features);
  return r;
}

TEST(Errors, MedianTailAndBias) {
  const ErrorStats s = error_stats({row("a", 101), row("b", 98), row("c", 110), row("d", 100)});
  EXPECT_EQ(s.count, 4U);
  EXPECT_NEAR(s.median_ape, 0.015, 1e-12);
  EXPECT_NEAR(s.mape, 0.0325, 1e-12);
  EXPECT_NEAR(s.p90_ape, 0.02 + 0.7 * 0.08, 1e-12) << "linear between 2 % and 10 %";
  EXPECT_NEAR(s.bias, 0.005, 1e-12);
  EXPECT_EQ(error_stats({}).count, 0U);
}

TEST(Errors, ARowIsInEachOfItsGroups) {
  Validation v{"training-memory", "bytes", {row("a", 101, {"moe", "ep"}), row("b", 98, {"moe"})}, {}, {}, {}};
  const auto groups = by_feature(v);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].name, "ep");
  EXPECT_EQ(groups[1].rows.size(), 2U);
  EXPECT_EQ(by_source(v).size(), 2U);
}

TEST(Errors, ChoosingIsTheLossOfTheLayoutRankedFirst) {
  const auto layout = [](const char* group, double measured, double predicted) {
    ValidatedRow r = row(group, predicted);
    r.measured = measured;
    r.layout_group = group;
    return r;
  };
  const Choosing c = choosing({layout("a", 10, 1), layout("a", 8, 2), layout("a", 9, 3), layout("a", 12, 4),
                               layout("b", 5, 1), layout("b", 6, 2), layout("b", 7, 3), layout("b", 8, 4),
                               layout("few", 9, 1), layout("few", 1, 2), layout("", 9, 1)});
  EXPECT_EQ(c.groups, 2U) << "a group needs four layouts";
  EXPECT_DOUBLE_EQ(c.largest_loss, 0.25) << "10 s, where the best took 8";
  EXPECT_DOUBLE_EQ(c.mean_loss, 0.125);
  EXPECT_EQ(choosing({}).groups, 0U);
}

}  // namespace
}  // namespace shardplan
