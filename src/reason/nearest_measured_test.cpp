#include "reason/nearest_measured.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

MeasuredRun run(const char* id, double parameters, double gpus, const char* device, bool experts = false) {
  return {id, "s", {"m", "megatron", device, "Hopper", "bf16", experts, parameters, gpus, 4096}, {}, {}};
}

TEST(NearestMeasured, DoublingsAndDifferencesCountAlike) {
  const RunProfile a = run("a", 70e9, 64, "h100-sxm").profile;
  EXPECT_EQ(run_distance(a, a), 0);
  EXPECT_DOUBLE_EQ(run_distance(a, run("b", 35e9, 256, "h100-sxm").profile), 3);
  RunProfile other = a;
  other.device = "h200";
  other.precision = "fp8";
  other.framework = "fsdp";
  EXPECT_EQ(run_distance(a, other), 3);
}

TEST(NearestMeasured, NearestFirstAndNeverTheOtherArchitecture) {
  const Evidence e{{},
                   {run("far", 7e9, 8, "h100-sxm"), run("experts", 70e9, 64, "h100-sxm", true),
                    run("other gpu", 70e9, 64, "h200"), run("twice", 70e9, 128, "h100-sxm"),
                    run("same", 70e9, 64, "h100-sxm")}};
  const auto near = nearest_measured(e, run("a", 70e9, 64, "h100-sxm").profile);
  ASSERT_EQ(near.size(), 3U);
  EXPECT_EQ(near[0].run.id, "same");
  EXPECT_EQ(near[1].run.id, "other gpu") << "as near as the next, and before it in the file";
  EXPECT_EQ(near[2].run.id, "twice");
  EXPECT_TRUE(nearest_measured({}, near[0].run.profile).empty());
}

}  // namespace
}  // namespace shardplan
