// The files of a time line: a trace that parses and holds every event, a picture that is whole and stays
// small.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "estimate/estimator.h"
#include "estimate/test_questions.h"
#include "report/timeline_svg.h"
#include "report/timeline_text.h"
#include "report/timeline_trace.h"

namespace shardplan {
namespace {

StepTimeline line_of(Schedule schedule, std::int32_t micro_batches) {
  static const Question q = llama3_8b_question(4096, 32);
  Plan p;
  p.dp = 2;
  p.tp = 4;
  p.pp = 4;
  p.sequence_parallel = true;
  p.zero_stage = 1;
  p.grad_accumulation = micro_batches;
  p.schedule = schedule;
  return Estimator(q).step_timeline(p);
}

std::string trace_of(const StepTimeline& line, const std::string& title) {
  std::string text;
  EXPECT_TRUE(write_trace(line, title, [&](std::string_view part) {
    text += part;
    return true;
  }));
  return text;
}

TEST(TimelineTrace, HoldsEveryEventWithinTheStep) {
  const StepTimeline line = line_of(Schedule::kZbH1, 8);
  std::size_t events = 0;
  line.for_each([&](const StepEvent&) { ++events; });
  const Json trace = Json::parse(trace_of(line, "a \"quoted\" title"));
  std::size_t written = 0;
  for (const Json& e : trace["traceEvents"]) {
    if (e["ph"] != "X") continue;
    ++written;
    EXPECT_GE(e["dur"].get<double>(), 0);
    EXPECT_LE(e["ts"].get<double>() + e["dur"].get<double>(), line.simulated.raw() * 1e6 + 1);
    EXPECT_LT(e["pid"].get<int>(), 4);
  }
  EXPECT_EQ(written, events);
  EXPECT_EQ(trace["otherData"]["title"], "a \"quoted\" title");
  EXPECT_EQ(trace["otherData"]["simulated_step_s"], line.simulated.raw());
}

TEST(TimelineTrace, ItsSizeIsKnownBefore) {
  for (const std::int32_t micro_batches : {64, 512}) {
    const StepTimeline line = line_of(Schedule::kZbH1, micro_batches);
    const double size = static_cast<double>(trace_of(line, "").size());
    EXPECT_NEAR(estimated_trace_bytes(line) / size, 1, 0.05) << micro_batches;
  }
}

TEST(TimelineTrace, WorkOfAStreamDoesNotOverlap) {
  const Json trace = Json::parse(trace_of(line_of(Schedule::kZbH1, 64), ""));
  std::map<std::pair<int, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> streams;  // ns
  for (const Json& e : trace["traceEvents"]) {
    if (e["ph"] != "X") continue;
    const auto start = std::llround(e["ts"].get<double>() * 1e3),
               spent = std::llround(e["dur"].get<double>() * 1e3);
    streams[{e["pid"], e["tid"]}].emplace_back(start, start + spent);
  }
  std::size_t pairs = 0;
  for (auto& [stream, events] : streams) {
    std::sort(events.begin(), events.end());
    for (std::size_t i = 1; i < events.size(); ++i, ++pairs) EXPECT_GE(events[i].first, events[i - 1].second);
  }
  EXPECT_GT(pairs, 500U);
}

TEST(TimelineTrace, StopsSayingYesWhenTheSinkFails) {
  EXPECT_FALSE(write_trace(line_of(Schedule::k1F1B, 8), "", [](std::string_view) { return false; }));
}

TEST(TimelineSvg, DrawsEveryStageAndEscapesTheTitle) {
  const std::string svg = timeline_svg(line_of(Schedule::k1F1B, 8), "a < b & c");
  EXPECT_NE(svg.find("a &lt; b &amp; c"), std::string::npos);
  for (const char* part : {"stage 0<", "stage 3<", "class=\"bar forward\"", "class=\"bar backward\"",
                           "class=\"bar optimizer\"", "prefers-color-scheme: dark", ">ms<"}) {
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(svg.find("left out"), std::string::npos);
  EXPECT_EQ(std::count(svg.begin(), svg.end(), '<'), std::count(svg.begin(), svg.end(), '>'));
}

TEST(TimelineSvg, LeavesTheMiddleOfALongStepOutAndSaysSo) {
  const std::string svg = timeline_svg(line_of(Schedule::kZbH1, 4096), "long");
  EXPECT_LT(svg.size(), std::size_t{1} << 18);
  EXPECT_NE(svg.find("; left out: "), std::string::npos);
  const auto count = [&](const std::string& what) {
    std::size_t n = 0;
    for (std::size_t at = svg.find(what); at != std::string::npos; at = svg.find(what, at + 1)) ++n;
    return n;
  };
  // About 40 passes of each of 4 stages at each end, of 3 x 4096, each with a mark of what it waits for.
  const std::size_t marks = count("class=\"bar exposed\""), bars = count("class=\"bar ") - marks;
  EXPECT_GT(marks, 0U);
  EXPECT_LE(marks, bars);
  EXPECT_GT(bars, 4U * 60);
  EXPECT_LT(bars, 4U * 100);
}

TEST(TimelineText, SaysBothStepsAndTheirDifference) {
  const StepTimeline line = line_of(Schedule::k1F1B, 16);
  const Json json = timeline_json(line, "x.json");
  EXPECT_EQ(json["difference"], line.estimated.raw() / line.simulated.raw() - 1);
  EXPECT_EQ(json["by_stage"].size(), 4U);
  EXPECT_NE(timeline_sentence(line).find(", closed form "), std::string::npos);
}

}  // namespace
}  // namespace shardplan
