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
  EXPECT_EQ(refused({"tp=0", {}, {}}).where, "--min tp");
  EXPECT_EQ(refused({{}, "", {}}).where, "--max");
  EXPECT_EQ(refused({{}, "tp=2,", {}}).where, "--max");
  EXPECT_EQ(refused({{}, "tp=2,", {}}).message, "an entry is empty");
  EXPECT_EQ(refused({{}, {}, "cp,,ep"}).message, "an entry is empty");
  EXPECT_EQ(refused({{}, "zb-v", {}}).message, "\"zb-v\" is no axis with a value");
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

TEST(AxisBounds, TheEndsOfThePipelineAreBoundedAndForbidden) {
  FixedAxes axes;
  const auto notes = read_bounds({"first-layers=2", "first-layers=4", "last-layers,rank-order"}, axes);
  ASSERT_TRUE(notes);
  EXPECT_EQ(axes.bounds_of(Degree::kFirstLayers), (DegreeBounds{2, 4}));
  EXPECT_EQ(axes.last_layers, 0);
  EXPECT_FALSE(axes.told(Degree::kLastLayers));
  EXPECT_EQ(axes.rank_order, RankOrder{});
  EXPECT_EQ(*notes,
            (std::vector<std::string>{"bounded: last-layers as the others", "bounded: rank-order tp-cp-dp-pp",
                                      "bounded: first-layers from 2 to 4"}));
  FixedAxes told;
  told.first_layers = 3;
  EXPECT_EQ(refused({{}, {}, "first-layers"}, told).where, "--first-layers");
  EXPECT_EQ(refused({"first-layers=4", {}, {}}, told).where, "--first-layers");
  EXPECT_EQ(refused({{}, "last-layers=0", {}}).where, "--max last-layers");
}

Question searched() {
  Question q;
  q.framework.engine.schedules = {Schedule::k1F1B, Schedule::kInterleaved};
  q.framework.engine.rank_orders = {RankOrder{}, RankOrder{1}};
  return q;
}

TEST(AxisBounds, ValuesAreForbiddenOfAxesThatHaveNames) {
  const BoundTexts texts{{}, {}, "cp,precision=FP8,schedule=interleaved,rank-order=tp-cp-dp-pp"};
  FixedAxes axes;
  EXPECT_EQ(*read_bounds(texts, axes), (std::vector<std::string>{"bounded: cp 1"}));
  const auto values = read_forbidden(texts);
  ASSERT_TRUE(values);
  EXPECT_TRUE(values->holds(PrecisionRecipe::kFp8));
  Question q = searched();
  EXPECT_FALSE(take_out_forbidden(*values, q));
  EXPECT_EQ(q.framework.engine.schedules, std::vector{Schedule::k1F1B});
  EXPECT_EQ(q.framework.engine.rank_orders, std::vector{RankOrder{1}});
  EXPECT_EQ(q.notes,
            (std::vector<std::string>{"bounded: schedule not interleaved",
                                      "bounded: rank-order not tp-cp-dp-pp", "bounded: precision not fp8"}));
}

TEST(AxisBounds, ForbiddenValuesThatMeanNothingAreRefused) {
  const auto wrong = [](const char* forbid) { return read_forbidden({{}, {}, forbid}).error(); };
  EXPECT_EQ(wrong("precision=fp9").where, "--forbid precision");
  EXPECT_EQ(wrong("schedule=zbv").expected, "one of gpipe, 1f1b, interleaved, zb-h1, zb-v, dualpipe");
  EXPECT_EQ(wrong("rank-order=tp").code, "unknown_name");
  EXPECT_EQ(wrong("tp=8").where, "--forbid");
  EXPECT_EQ(wrong("schedules=zb-v").nearest, "schedule");
  EXPECT_EQ(wrong("schedule=zb-v,schedule=ZB_V").code, "conflict");
  const auto conflict = [](const char* forbid, auto tell) {
    Question q = searched();
    tell(q.fixed);
    const auto error = take_out_forbidden(*read_forbidden({{}, {}, forbid}), q);
    EXPECT_TRUE(error) << forbid;
    return error.value_or(Error{}).where;
  };
  EXPECT_EQ(conflict("schedule=zb-v", [](FixedAxes& a) { a.schedule = Schedule::kZbV; }), "--schedule");
  EXPECT_EQ(conflict("schedule=interleaved", [](FixedAxes& a) { a.interleave = 2; }), "--interleave");
  EXPECT_EQ(conflict("rank-order=tp-cp-pp-dp", [](FixedAxes& a) { a.rank_order = RankOrder{1}; }),
            "--rank-order");
  EXPECT_EQ(conflict("schedule=1f1b,schedule=interleaved", [](FixedAxes&) {}), "--forbid schedule");
  Question told = searched();
  told.fixed.schedule = Schedule::kZbV;
  EXPECT_FALSE(take_out_forbidden(*read_forbidden({{}, {}, "schedule=1f1b,schedule=interleaved"}), told));
}

TEST(AxisBounds, FixedAxesAreToldAxes) {
  QuestionSpec spec;
  spec.tp = "4";
  EXPECT_EQ(
      *take_fixed("pp=2,schedule=1f1b,zero=1,precision=fp8,rank-order=tp-cp-pp-dp,first-layers=3", spec),
      (std::vector<std::string>{"pp", "schedule", "zero", "precision", "rank-order", "first-layers"}));
  EXPECT_EQ(spec.pp, "2");
  EXPECT_EQ(spec.schedule, "1f1b");
  EXPECT_EQ(spec.zero, "1");
  EXPECT_EQ(spec.precision, "fp8");
  EXPECT_EQ(spec.rank_order, "tp-cp-pp-dp");
  EXPECT_EQ(spec.first_layers, "3");
  const auto wrong = [&](const char* text) { return take_fixed(text, spec).error(); };
  EXPECT_EQ(wrong("tp=8").code, "conflict");
  EXPECT_EQ(wrong("ep=8,ep=8").code, "conflict");
  EXPECT_EQ(wrong("schedul=8").nearest, "schedule");
  EXPECT_EQ(wrong("cp").code, "bad_value");
  EXPECT_EQ(wrong("").where, "--fix");
  EXPECT_EQ(wrong("cp=2,").message, "an entry is empty");
  EXPECT_EQ(wrong("zb-v").nearest, "schedule=zb-v");
  EXPECT_EQ(wrong("fp8").nearest, "precision=fp8");
  EXPECT_TRUE(take_fixed(std::nullopt, spec)->empty());
}

}  // namespace
}  // namespace shardplan
