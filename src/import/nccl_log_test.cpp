#include "import/nccl_log.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

const std::string kRanks =
    "# nccl-tests all_reduce_perf\n"
    "#  Rank  0 Group  0 Pid 7 on  node-a device  0 [0x07] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid 8 on  node-b device  0 [0x07] NVIDIA H100 80GB HBM3\n";
const std::string kHeading =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)\n";
const std::string kPoint =
    "        1024           256     float     sum      -1    25.01    0.04    0.04      0    24.9\n";

TEST(NcclLog, IsReadAsItIsPrinted) {
  const std::string text = kRanks + kHeading + kPoint + "# Avg bus bandwidth : 1.0\n";
  EXPECT_TRUE(is_nccl_log(text));
  const Result<CsvTable> table = read_nccl_log(text, "run.log", {"ib-ndr-400", ""});
  ASSERT_TRUE(table) << table.error().message;
  ASSERT_EQ(table->size(), 1U);
  const CsvRow row{*table, 0};
  EXPECT_EQ(row["collective"], "all_reduce");
  EXPECT_EQ(row["ranks"], "2");
  EXPECT_EQ(row["nodes"], "2");
  EXPECT_EQ(row["gpus_per_node"], "1");
  EXPECT_EQ(row["hardware"], "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(row["bytes"], "1024");
  EXPECT_EQ(row["time_us"], "25.01");
  EXPECT_EQ(row["network"], "ib-ndr-400");
}

TEST(NcclLog, OtherTextsAreNone) {
  EXPECT_FALSE(is_nccl_log("system,bytes,time_us,busbw\n"));
  EXPECT_FALSE(is_nccl_log(""));
}

TEST(NcclLog, TwoRunsAreNotOne) {
  const std::string run = kRanks + kHeading + kPoint;
  const auto twice = read_nccl_log(run + run, "two.log", {});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().where, "two.log:10");
  EXPECT_NE(twice.error().message.find("second run"), std::string::npos);
}

TEST(NcclLog, ATimeThatIsNoneStaysToBeSkippedByName) {
  std::string point = kPoint;
  point.replace(point.find("25.01"), 5, " 0.00");
  const auto table = read_nccl_log(kRanks + kHeading + kPoint + point, "l", {});
  ASSERT_TRUE(table);
  EXPECT_EQ(table->size(), 2U);
}

TEST(NcclLog, OldVersionsAreToldTheirCollective) {
  const std::string nameless = kRanks.substr(kRanks.find('\n') + 1);
  const auto table = read_nccl_log(nameless + kHeading + kPoint, "l", {"", "all-gather"});
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ((CsvRow{*table, 0}["collective"]), "all-gather");
  const auto twice = read_nccl_log(kRanks + kHeading + kPoint, "l", {"", "all-gather"});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().where, "--collective");
}

TEST(NcclLog, WrongResultsAreSeen) {
  std::string point = kPoint;
  point.replace(point.find("  0    24.9"), 3, "  7");
  const auto table = read_nccl_log(kRanks + kHeading + kPoint + point, "l", {});
  ASSERT_TRUE(table);
  EXPECT_EQ((CsvRow{*table, 0}["wrong"]), "0");
  EXPECT_EQ((CsvRow{*table, 1}["wrong"]), "7");
}

TEST(NcclLog, WhatIsMissingIsNamed) {
  const std::string nameless = kRanks.substr(kRanks.find('\n') + 1);
  EXPECT_NE(read_nccl_log(kHeading + kPoint, "l", {}).error().message.find("ranks"), std::string::npos);
  EXPECT_NE(read_nccl_log(nameless + kHeading + kPoint, "l", {}).error().message.find("test"),
            std::string::npos);
  EXPECT_NE(read_nccl_log(kRanks + kHeading, "l", {}).error().message.find("times"), std::string::npos);
}

}  // namespace
}  // namespace shardplan
