#include "import/axis_bounds.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace shardplan {
namespace {

TEST(AxisBounds, AreReadAndSaid) {
  FixedAxes axes;
  const auto notes = read_bounds({"tp=2", "tp=8,micro-batch=4", "cp"}, axes);
  ASSERT_TRUE(notes);
  EXPECT_EQ(axes.bounds_of(Degree::kTp), (DegreeBounds{2, 8}));
  EXPECT_EQ(axes.bounds_of(Degree::kMicroBatch).most, 4);
  EXPECT_EQ(axes.bounds_of(Degree::kCp).most, 1);
  EXPECT_EQ(axes.bounds_of(Degree::kPp), DegreeBounds{});
  EXPECT_EQ(*notes, (std::vector<std::string>{"bounded: tp from 2 to 8", "bounded: cp 1",
                                              "bounded: micro-batch at most 4"}));
}

TEST(AxisBounds, HoldTheStageOfZeroAndTheRanksItShardsOver) {
  FixedAxes axes;
  const auto notes = read_bounds({"zero=1", "zero=2,shard-group=8", {}}, axes);
  ASSERT_TRUE(notes);
  EXPECT_EQ(axes.bounds_of(Degree::kZero), (DegreeBounds{1, 2}));
  EXPECT_EQ(axes.bounds_of(Degree::kShardGroup).most, 8);
  EXPECT_EQ(*notes,
            (std::vector<std::string>{"bounded: zero from 1 to 2", "bounded: shard-group at most 8"}));
  FixedAxes none;
  EXPECT_TRUE(read_bounds({"zero=0,tp=1", {}, {}}, none)->empty());
}

TEST(AxisBounds, NothingToldChangesNothing) {
  FixedAxes axes;
  const auto notes = read_bounds({}, axes);
  ASSERT_TRUE(notes);
  EXPECT_TRUE(notes->empty());
  EXPECT_EQ(axes, FixedAxes{});
}

Error refused(const BoundTexts& texts, FixedAxes axes = {}) {
  const auto notes = read_bounds(texts, axes);
  EXPECT_FALSE(notes);
  return notes ? Error{} : notes.error();
}

TEST(AxisBounds, WhatMeansNothingIsRefused) {
  EXPECT_EQ(refused({"tpp=2", {}, {}}).nearest, "tp");
  EXPECT_EQ(refused({"tp=2", {}, {}},
                    [] {
                      FixedAxes axes;
                      axes.tp = 1;
                      return axes;
                    }())
                .where,
            "--tp");
  EXPECT_EQ(refused({"tp", {}, {}}).code, "bad_value");
  EXPECT_EQ(refused({"tp=0", {}, {}}).code, "out_of_range");
  EXPECT_EQ(refused({"tp=2.5", {}, {}}).code, "bad_value");
  EXPECT_EQ(refused({{}, "", {}}).where, "--max");
  EXPECT_EQ(refused({{}, "tp=2,", {}}).where, "--max");
  EXPECT_EQ(refused({"recompute=1", {}, {}}).code, "unknown_name");
  EXPECT_EQ(refused({{}, "zero=4", {}}).expected, "a whole number between 0 and 3");
  EXPECT_EQ(refused({{}, "shard-group=0", {}}).code, "out_of_range");
  EXPECT_EQ(refused({"zero=1", {}, "zero"}).where, "--min, --forbid");
  EXPECT_EQ(refused({{}, "shard-group=4", {}},
                    [] {
                      FixedAxes axes;
                      axes.shard_group = 8;
                      return axes;
                    }())
                .where,
            "--shard-group");
  EXPECT_EQ(refused({{}, {}, "zeros"}).nearest, "zero");
  EXPECT_EQ(refused({"pp=8", "pp=4", {}}).where, "--min, --max");
  EXPECT_EQ(refused({{}, "tp=4,tp=2", {}}).code, "conflict");
  EXPECT_EQ(refused({"ep=2", {}, "ep"}).where, "--min, --forbid");
}

TEST(AxisBounds, SwitchesAreForbiddenToo) {
  FixedAxes axes;
  const auto notes = read_bounds({{}, {}, "zero,sp,recompute,shard-group,offload,cp"}, axes);
  ASSERT_TRUE(notes);
  EXPECT_EQ(axes.bounds_of(Degree::kZero).most, 0);
  EXPECT_EQ(axes.sequence_parallel, false);
  EXPECT_EQ(axes.recompute, Recompute::kNone);
  EXPECT_EQ(axes.shard_group, 0);
  EXPECT_EQ(axes.offload, 0);
  EXPECT_NE(std::find(notes->begin(), notes->end(), "bounded: zero 0"), notes->end());
  EXPECT_EQ(notes->size(), 6U);
  FixedAxes told;
  told.zero_stage = 1;
  EXPECT_EQ(refused({{}, {}, "zero"}, told).where, "--zero");
}

TEST(AxisBounds, FixedAxesAreToldAxes) {
  QuestionSpec spec;
  spec.tp = "4";
  EXPECT_FALSE(take_fixed("pp=2,schedule=1f1b,zero=1", spec));
  EXPECT_EQ(spec.pp, "2");
  EXPECT_EQ(spec.schedule, "1f1b");
  EXPECT_EQ(spec.zero, "1");
  EXPECT_EQ(take_fixed("tp=8", spec)->code, "conflict");
  EXPECT_EQ(take_fixed("ep=8,ep=8", spec)->code, "conflict");
  EXPECT_EQ(take_fixed("schedul=8", spec)->nearest, "schedule");
  EXPECT_EQ(take_fixed("cp", spec)->code, "bad_value");
  EXPECT_EQ(take_fixed("", spec)->where, "--fix");
  EXPECT_FALSE(take_fixed(std::nullopt, spec));
}

}  // namespace
}  // namespace shardplan
