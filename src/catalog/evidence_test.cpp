#include "catalog/evidence.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

Device device(const char* name, const char* architecture) {
  Device d;
  d.name = name;
  d.architecture = architecture;
  return d;
}

Evidence evidence() {
  return {{{kTimeBand, "gpu", "h100-sxm", 84, 0.9, 1.3},
           {kTimeBand, "architecture", "Hopper", 101, 0.8, 1.4},
           {kMemoryBand, "framework", "megatron", 224, 0.99, 1.03}},
          {}};
}

TEST(Evidence, TheNarrowestBandIsFound) {
  const Evidence e = evidence();
  const auto of = [&](const char* framework, const Device& d) {
    return find_band(e, kTimeBand, framework, d)->of;
  };
  EXPECT_EQ(of("fsdp", device("h100-sxm", "Hopper")), "gpu");
  EXPECT_EQ(of("megatron", device("h200", "Hopper")), "architecture");
  EXPECT_EQ(find_band(e, kTimeBand, "megatron", device("mi300x", "CDNA3")), nullptr);
}

TEST(Evidence, MemoryHasTheFrameworksBandOrNone) {
  const Evidence e = evidence();
  const Device d = device("h100-sxm", "Hopper");
  const ErrorBand* band = find_band(e, kMemoryBand, "megatron", d);
  ASSERT_NE(band, nullptr);
  EXPECT_DOUBLE_EQ(band->low(100), 99);
  EXPECT_DOUBLE_EQ(band->high(100), 103);
  EXPECT_EQ(find_band(e, kMemoryBand, "fsdp", d), nullptr);
  EXPECT_EQ(find_band({}, kTimeBand, "fsdp", d), nullptr);
}

TEST(Evidence, InWords) {
  const Evidence e = evidence();
  EXPECT_EQ(rows_text(e.bands[0]), "84 measured runs on h100-sxm");
  EXPECT_EQ(rows_text(e.bands[1]), "101 measured runs on Hopper GPUs");
  EXPECT_EQ(rows_text(e.bands[2]), "224 measured runs of megatron");
  EXPECT_EQ(range_text(e.bands[0]), "0.90 to 1.30 times");
}

}  // namespace
}  // namespace shardplan
