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

}  // namespace
}  // namespace shardplan
