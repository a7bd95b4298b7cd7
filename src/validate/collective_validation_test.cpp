#include "validate/collective_validation.h"

#include <gtest/gtest.h>

#include <cmath>

namespace shardplan {
namespace {

const std::string kColumns =
    "system,source,hardware,nodes,gpus_per_node,ranks,network,collective,bytes,time_us,lib,launcher,clean,tuned\n";

CsvTable table_of(const std::string& rows) { return read_csv(kColumns + rows, "t.csv").value(); }

TEST(CollectiveRun, TakesDeviceNodesAndFabricFromItsColumns) {
  const CsvTable table = table_of(
      "s,src,\"NVIDIA H100 80GB HBM3 (HGX, 8/node)\",2,8,16,8x400G IB NDR (CX-7),all_reduce,1048576,72,nccl,nccl-tests,1,0\n");
  const Result<CollectiveRun> run = read_collective_run({table, 0}, catalog());
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->gpu, "h100-sxm");
  EXPECT_EQ(run->fabric, "ib-ndr-400");
  ASSERT_EQ(run->question.cluster.tiers.size(), 2U);
  EXPECT_EQ(run->question.cluster.tiers[0].size, 8);
  EXPECT_DOUBLE_EQ(run->measured.raw(), 72e-6);
}

TEST(CollectiveRun, WrongResultsAreNoMeasurement) {
  const CsvTable table(
      {"hardware", "ranks", "collective", "bytes", "time_us", "wrong"},
      {{"H100", "8", "all_reduce", "1024", "13", "2"}, {"H100", "8", "all_reduce", "1024", "13", "0"}});
  const Result<CollectiveRun> run = read_collective_run({table, 0}, catalog());
  ASSERT_FALSE(run);
  EXPECT_NE(run.error().message.find("wrong"), std::string::npos);
  EXPECT_TRUE(read_collective_run({table, 1}, catalog()));
}

TEST(CollectiveRun, RacksAreDomains) {
  const CsvTable table = table_of(
      "s,src,NVIDIA GB200 NVL72 (4/node),36,4,144,2xNVL72 + IB Quantum-2/X800,all_reduce,1e9,3000,nccl,nccl-tests,1,0\n"
      "s,src,\"NVIDIA GB300 (4/node, NVL72)\",16,4,64,NVL72-1rack,alltoall,1e9,3000,nccl,nccl-tests,1,0\n");
  const Result<CollectiveRun> two = read_collective_run({table, 0}, catalog());
  ASSERT_TRUE(two) << two.error().message;
  EXPECT_EQ(two->question.cluster.tiers[0].size, 72);
  EXPECT_EQ(two->fabric, "ib-ndr-400");
  const Result<CollectiveRun> one = read_collective_run({table, 1}, catalog());
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->question.cluster.tiers.size(), 1U);
}

TEST(CollectiveRun, WhatCannotBeToldIsSkippedWithItsReason) {
  const auto reason = [](const std::string& row) {
    const CsvTable table = table_of(row);
    const Result<CollectiveRun> run = read_collective_run({table, 0}, catalog());
    return run ? std::string() : run.error().message;
  };
  EXPECT_NE(reason("s,x,H100,1,8,8,NVLink,all_reduce,8,13,nccl,torch,0,0\n").find("anomalous"),
            std::string::npos);
  EXPECT_NE(reason("s,x,H100,1,8,8,NVLink,all_reduce,8,13,nccl,torch,1,1\n").find("forced"),
            std::string::npos);
  EXPECT_NE(reason("s,x,a toaster,1,8,8,NVLink,all_reduce,8,13,nccl,torch,1,0\n").find("GPU"),
            std::string::npos);
  EXPECT_NE(reason("s,x,H100,2,8,16,string,all_reduce,8,13,nccl,torch,1,0\n").find("string"),
            std::string::npos);
  EXPECT_NE(reason("s,x,H100,2,8,16,,all_reduce,8,13,nccl,torch,1,0\n").find("not told"), std::string::npos);
  for (const char* time : {"-1", "0", "nan", "12us"}) {
    EXPECT_EQ(reason(std::string("s,x,H100,1,8,8,NVLink,all_reduce,8,") + time + ",nccl,torch,1,0\n"),
              std::string("line 2: time_us \"") + time + "\" is no positive time");
  }
  EXPECT_EQ(reason("s,x,H100,1,8,8,NVLink,all_reduce,8,,nccl,torch,1,0\n"), "line 2: no positive time");
  EXPECT_EQ(reason("s,x,H100,1,8,8,NVLink,all_reduce,8KiB,13,nccl,torch,1,0\n"),
            "line 2: bytes \"8KiB\" is no size in bytes");
  EXPECT_NE(reason("s,x,H100,1,8,8,NVLink,shuffle,8,13,nccl,torch,1,0\n").find("shuffle"), std::string::npos);
  EXPECT_NE(reason("s,x,H100,2,4,16,IB NDR,all_reduce,8,13,nccl,torch,1,0\n").find("same number"),
            std::string::npos);
  EXPECT_NE(reason("s,x,H100,1,1,1,NVLink,all_reduce,8,13,nccl,torch,1,0\n").find("ranks"),
            std::string::npos);
}

TEST(Calibration, FindsTheFactorsThatMadeASeries) {
  const CsvTable table = table_of(
      "s,src,NVIDIA H100,2,8,16,8x400G IB NDR,all_reduce,1024,1,nccl,nccl-tests,1,0\n"
      "s,src,NVIDIA H100,2,8,16,8x400G IB NDR,all_reduce,65536,1,nccl,nccl-tests,1,0\n"
      "s,src,NVIDIA H100,2,8,16,8x400G IB NDR,all_reduce,16777216,1,nccl,nccl-tests,1,0\n"
      "s,src,NVIDIA H100,2,8,16,8x400G IB NDR,all_reduce,1073741824,1,nccl,nccl-tests,1,0\n");
  Calibration made;
  made.hop = ratio(1.8);
  made.bandwidth = ratio(0.7);
  std::vector<CollectiveRun> runs;
  for (std::size_t i = 0; i < table.size(); ++i) {
    runs.push_back(read_collective_run({table, i}, catalog()).value());
    runs.back().measured = seconds(predicted_time(runs.back(), made));
  }
  std::vector<const CollectiveRun*> all;
  for (const CollectiveRun& run : runs) all.push_back(&run);
  const Calibration found = fit_calibration(all);
  for (const CollectiveRun& run : runs) {
    EXPECT_NEAR(predicted_time(run, found) / run.measured.raw(), 1.0, 0.05);
  }
}

TEST(SeriesMedian, GivesEachSeriesOneVote) {
  Validation v{kCollectiveKind, "s", {}, {}, {}, {}};
  const auto add = [&](const char* series, double predicted) {
    ValidatedRow row;
    row.source = series;
    row.measured = 1;
    row.predicted = predicted;
    v.rows.push_back(row);
  };
  for (int i = 0; i < 9; ++i) add("long", 1.5);
  add("short", 1.1);
  add("other", 1.2);
  EXPECT_NEAR(series_median(v), 0.2, 1e-12);
}

}  // namespace
}  // namespace shardplan
