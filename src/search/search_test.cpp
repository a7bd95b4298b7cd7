#include "search/search.h"

#include <gtest/gtest.h>

#include <vector>

namespace shardplan {
namespace {

/// A plan of 8 sequences whose step takes so long, with so much of it traffic that is felt.
Estimate estimate(double step_s, double traffic_s, double headroom_gb, std::int32_t tp) {
  Estimate e;
  e.plan.dp = 8;
  e.plan.tp = tp;
  e.time[TimeTerm::kGemm].time = seconds(step_s - traffic_s);
  e.time[TimeTerm::kData].time = seconds(traffic_s);
  e.step = e.time.total();
  e.usable = gigabytes(headroom_gb);
  return e;
}

/// Each is better than those after it, and none is better than itself.
void expect_order(const std::vector<Estimate>& best_first) {
  for (std::size_t i = 0; i < best_first.size(); ++i) {
    for (std::size_t k = 0; k < best_first.size(); ++k)
      EXPECT_EQ(better(best_first[i], best_first[k]), i < k) << i << " and " << k;
  }
}

TEST(Better, IsTheFasterPlanWhateverElse) {
  Estimate twice = estimate(3, 2, 1, 4);  // of twice the sequences: less time for each
  twice.plan.grad_accumulation = 2;
  expect_order({twice, estimate(2, 2, 1, 4), estimate(3, 0, 50, 1)});
}

TEST(Better, OfPlansAsFastIsTheMoreRobustOne) {
  const Estimate roomy = estimate(2, 1.5, 20, 8), quiet = estimate(2, 0.5, 10, 8),
                 loud = estimate(2, 1, 10, 1);
  expect_order({roomy, quiet, loud});
}

TEST(Better, OfPlansThatAreOtherwiseAlikeIsTheSmallerOne) {
  expect_order({estimate(2, 1, 10, 1), estimate(2, 1, 10, 2), estimate(2, 1, 10, 4)});
}

/// Where reading the batch sets the pace all that keep up take as long: the one with more time to spare.
TEST(Better, OfPlansThatWaitForTheirBatchIsTheOneThatWaitsLonger) {
  const auto waiting = [](double busy_s, double headroom_gb) {
    Estimate e = estimate(busy_s, 0, headroom_gb, 1);
    e.time[TimeTerm::kLoading].time = seconds(4);
    e.time[TimeTerm::kLoading].hidden = seconds(busy_s);
    e.step = e.time.total();
    return e;
  };
  expect_order({waiting(2, 1), waiting(3, 50)});
}

}  // namespace
}  // namespace shardplan
