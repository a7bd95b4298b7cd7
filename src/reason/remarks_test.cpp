#include "reason/remarks.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

TEST(Remarks, NoStepIsShorterThanItsReading) {
  const ErrorBand band{kTimeBand, "gpu", "h100-sxm", 99, 0.9, 1.1};
  Training workload;
  EXPECT_EQ(step_range(workload, band, seconds(10)).low, seconds(9));
  workload.data_loading = seconds(9.5);
  const StepRange held = step_range(workload, band, seconds(10));
  EXPECT_TRUE(held.held);
  EXPECT_EQ(held.low, seconds(9.5));
  EXPECT_EQ(held.high, seconds(11));
  EXPECT_FALSE(step_range(workload, band, seconds(20)).held);
}

TEST(Remarks, TiesSayWhatBrokeThem) {
  Estimate best, other;
  best.step = other.step = seconds(2);
  best.usable = other.usable = gibibytes(80);
  EXPECT_EQ(tie_between(best, other), TieBreak::kOrder);
  other.usable = gibibytes(79);
  EXPECT_EQ(tie_between(best, other), TieBreak::kHeadroom);
  for (Estimate* e : {&best, &other}) e->time[TimeTerm::kLoading].time = seconds(2);
  best.time[TimeTerm::kLoading].hidden = seconds(0.5);
  other.time[TimeTerm::kLoading].hidden = seconds(1);
  EXPECT_EQ(tie_between(best, other), TieBreak::kBusy);
  other.time[TimeTerm::kLoading].time = seconds(3);
  EXPECT_FALSE(tie_between(best, other));
  best.time[TimeTerm::kLoading] = other.time[TimeTerm::kLoading] = {};
  other.step = seconds(3);
  EXPECT_FALSE(tie_between(best, other));
}

TEST(Remarks, AShareAboveAllIsRemarked) {
  const Utilisation modest{"causal", "products", "someone", ratio(0.9), ratio(1)};
  const Utilisation beyond{"palm", "every parameter", "someone", ratio(1.1), ratio(1.1)};
  EXPECT_FALSE(more_than_all(modest));
  EXPECT_TRUE(more_than_all(beyond));
  EXPECT_TRUE(
      more_than_all_words(beyond).starts_with("palm above 100 % is no slip: it counts every parameter"));
}

}  // namespace
}  // namespace shardplan
