#include "report/explain.h"

#include <gtest/gtest.h>

#include "cost/collectives.h"
#include "report/trace_text.h"

namespace shardplan {
namespace {

Seconds<Traced> all_reduce_latency(double ranks) {
  return call<RingAllReduceLatency>(
      RingAllReduceLatency::In<Traced>{leaf<Traced>("ranks", ranks, "flag --gpus"),
                                       leaf<Traced>("link latency", microseconds(15), "flag --latency")});
}

TEST(Explain, ShowsExpressionValuesAndWhereTheyAreFrom) {
  const std::string text = explain_text({{"latency", all_reduce_latency(64).raw().shared()}});
  EXPECT_NE(text.find("[1] ring all-reduce, latency term  (comm.ring.all_reduce.latency)"), std::string::npos)
      << text;
  EXPECT_NE(text.find("= 2 · (n - 1) · a\n"), std::string::npos) << text;
  EXPECT_NE(text.find("= 2 · (64 - 1) · 15 us\n"), std::string::npos) << text;
  EXPECT_NE(text.find("= 1.89 ms\n"), std::string::npos) << text;
  EXPECT_NE(text.find("n  = 64     ranks (flag --gpus)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Thakur"), std::string::npos) << text;
}

TEST(Explain, ACallIsShownOncePerDistinctInputs) {
  const Seconds<Traced> sum = all_reduce_latency(64) + all_reduce_latency(64) + all_reduce_latency(8);
  const Json blocks = explain_json({{"sum", sum.raw().shared()}});
  ASSERT_EQ(blocks.size(), 3U);  // the sum and two distinct calls
  EXPECT_EQ(blocks[0]["id"], "");
  EXPECT_EQ(blocks[0]["expression"], "[1] + [1] + [2]");
  EXPECT_EQ(blocks[0]["unit"], "s");
  EXPECT_EQ(blocks[1]["id"], "comm.ring.all_reduce.latency");
}

TEST(Explain, InputsMadeByAFormulaPointAtIt) {
  const auto window =
      call<BackwardWindow>(BackwardWindow::In<Traced>{leaf<Traced>("step", milliseconds(700), "flag")});
  const auto exposed = call<ExposedTime>(ExposedTime::In<Traced>{
      all_reduce_latency(64), window, leaf<Traced>("contention", ratio(0), "left out")});
  const Json blocks = explain_json({{"felt", exposed.raw().shared()}});
  ASSERT_EQ(blocks.size(), 3U);
  EXPECT_EQ(blocks[0]["symbols"][0]["meaning"], "[2] ring all-reduce, latency term");
  EXPECT_EQ(blocks[0]["symbols"][1]["meaning"], "[3] backward pass of a step");
  EXPECT_EQ(blocks[0]["symbols"][2]["source"], "left out");
  EXPECT_DOUBLE_EQ(blocks[2]["value"], window.raw().value());
}

TEST(Explain, NamedStepsOfTheCallerKeepTheirExpression) {
  const auto size = leaf<Traced>("message", bytes(100), "flag");
  const auto share = named("share", size / leaf<Traced>("ranks", ratio(4), "plan"));
  const auto time = call<ChainBandwidth>(
      ChainBandwidth::In<Traced>{share, leaf<Traced>("bandwidth", bytes_per_s(5), "flag")});
  const Json blocks = explain_json({{"time", time.raw().shared()}});
  EXPECT_EQ(blocks[0]["symbols"][0]["meaning"], "share = message / ranks");
  EXPECT_EQ(blocks[0]["substituted"], "25 B / (5 B/s)");
}

TEST(TraceText, ParenthesesOnlyWhereTheyMatter) {
  const auto a = leaf<Traced>("a", ratio(1), ""), b = leaf<Traced>("b", ratio(2), ""),
             c = leaf<Traced>("c", ratio(3), "");
  const auto text = [](const Ratio<Traced>& q) { return expression_text(q.raw().node(), symbol_name); };
  EXPECT_EQ(text(a - (b - c)), "a - (b - c)");
  EXPECT_EQ(text(a + (b - c)), "a + b - c");
  EXPECT_EQ(text(a / (b * c)), "a / (b · c)");
  EXPECT_EQ(text(a * (b / c)), "a · b / c");
  EXPECT_EQ(text((a + b) * c), "(a + b) · c");
  EXPECT_EQ(text(max(a, b * c)), "max(a, b · c)");
  EXPECT_EQ(text(ceil(a / b)), "ceil(a / b)");
  EXPECT_EQ(text(0.5 * a), "0.5 · a");
}

}  // namespace
}  // namespace shardplan
