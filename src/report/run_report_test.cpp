#include "report/run_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace shardplan {
namespace {

using testing::HasSubstr;

Estimate estimate(std::int32_t dp, double step, double free_gib) {
  Estimate e;
  e.plan.dp = dp;
  e.step = seconds(step);
  e.time[TimeTerm::kGemm].time = e.step;
  e.tokens_per_gpu = TokensPerSecond<>(1000);
  e.usable = gibibytes(free_gib + 10);
  e.memory[MemoryTerm::kWeights] = gibibytes(10);
  return e;
}

RunAnswer priced() {
  Objective o;
  o.kind = ObjectiveKind::kCost;
  o.told = true;
  o.budget = tokens(86400e3 * 10 * 8);  // 10 days of 8 GPUs
  o.deadline = seconds(11 * 86400.0);
  o.price = {usd_per_hour(2), {SourceKind::kUser, "--price", "--price", "", "", ""}};
  o.watts = {500, {}};
  SizesAnswer sizes{{1, 8, 1}, {}};
  sizes.search.census = {8, 1, 3, 4, 2};
  RunAnswer run = run_answer(o, sizes, estimate(8, 2, 5));
  run.pareto = ParetoFront{{estimate(4, 4, 1), estimate(8, 2, 5), estimate(8, 3, 30)}};
  run.pareto->plans.back().plan.zero_stage = 3;
  return run;
}

TEST(RunReport, SaysWhatTheRunTakes) {
  const std::string text = run_text(priced());
  EXPECT_THAT(text, HasSubstr("cost: $3,840 on 8 GPUs, the best of all sizes from 1 to 8 GPUs\n"));
  EXPECT_THAT(text, HasSubstr("10 days for 6.912 B tokens; 1 day before the deadline of 11 days"));
  EXPECT_THAT(text,
              HasSubstr("$16 an hour, $0.5556 for a million tokens, at $2 an hour and GPU  [flag --price]"));
  EXPECT_THAT(text, HasSubstr("960 kWh; 4 kW, 0.5 J a token, at 500 W a GPU"));
  EXPECT_THAT(text,
              HasSubstr("8 sizes, 1 to 8 GPUs: 4 searched (nothing fits on 2), 3 excluded by a bound on "
                        "their times, 1 without a legal plan"));
}

TEST(RunReport, SaysWhatInterruptionsMakeOfIt) {
  RunAnswer run = priced();
  run.interrupted = Interrupted{ratio(0.8), *run.totals->time / ratio(0.8), *run.totals->cost / ratio(0.8)};
  const std::string text = run_text(run);
  EXPECT_THAT(text,
              HasSubstr("10 days for 6.912 B tokens, 12.5 days with interruptions and checkpoints, which "
                        "leave 80.0 % to steps that count; without them 1 day before the deadline"));
  EXPECT_THAT(text, HasSubstr("$3,840, $4,800 with interruptions; $16 an hour"));
  Json json;
  add_run(run, json);
  EXPECT_EQ(json["run"]["effective_time_share"], 0.8);
  EXPECT_EQ(json["run"]["interrupted_cost_usd"], 4800.0);
}

TEST(RunReport, SaysNothingWhereNothingWasAsked) {
  Json json;
  const RunAnswer run = run_answer({}, std::nullopt, estimate(8, 2, 5));
  add_run(run, json);
  EXPECT_EQ(run_text(run), "");
  EXPECT_TRUE(json.empty());
}

TEST(RunReport, ListsThePrecisionsAndWhichIsChosen) {
  RunAnswer run = run_answer({}, std::nullopt, estimate(8, 2, 5));
  run.precisions = {{"bf16", "", estimate(4, 3, 5)},
                    {"fp8", "", estimate(8, 2, 5)},
                    {"mxfp8", "h100-sxm has no mxfp8 products", std::nullopt},
                    {"fp16", "", std::nullopt}};
  EXPECT_EQ(choose_precision(run.precisions), 1U);
  const std::string text = run_text(run);
  EXPECT_THAT(text, HasSubstr("precision fp8: the shortest step"));
  EXPECT_THAT(text, HasSubstr("+50.0 %"));
  EXPECT_THAT(text, HasSubstr("h100-sxm has no mxfp8 products"));
  EXPECT_THAT(text, HasSubstr("nothing fits"));
  EXPECT_THAT(precision_note(run.precisions), HasSubstr("fp8 converges as in bf16, fp16 is not judged"));
  Json json;
  add_run(run, json);
  EXPECT_EQ(json["precisions"].size(), 4U);
  EXPECT_EQ(json["precisions"][1]["chosen"], true);
  EXPECT_EQ(json["precisions"][1]["step_time_s"], 2.0);
  EXPECT_EQ(json["precisions"][2]["possible"], false);
  EXPECT_EQ(json["precisions"][3]["feasible"], false);
  EXPECT_TRUE(json["precisions"][3]["reason"].is_null());
}

TEST(RunReport, WhereNothingFitsTheFirstPossiblePrecisionIsTheQuestions) {
  RunAnswer run = run_answer({}, std::nullopt, std::nullopt);
  run.precisions = {{"nvfp4", "none", std::nullopt}, {"fp8", "", std::nullopt}, {"bf16", "", std::nullopt}};
  EXPECT_EQ(choose_precision(run.precisions), 1U);
  EXPECT_THAT(run_text(run), HasSubstr("precision fp8: nothing fits, in no precision"));
}

TEST(RunReport, SaysThatItIsLate) {
  RunAnswer run = priced();
  run.objective.deadline = seconds(86400);
  run = run_answer(run.objective, run.sizes, run.best);
  EXPECT_FALSE(run.yes());
  EXPECT_THAT(run_text(run),
              HasSubstr("no size from 1 to 8 GPUs is done in time; the soonest takes 10 days on 8 "
                        "GPUs, and the deadline is 1 day"));
  run.sizes.reset();
  EXPECT_THAT(run_text(run), HasSubstr("cost: not done in time: 10 days on 8 GPUs"));
  run.objective.told = false;
  EXPECT_THAT(run_text(run), HasSubstr("not done in time"));
}

TEST(RunReport, SaysThatItWasStopped) {
  RunAnswer run = priced();
  run.sizes->search.stopped = true;
  run.sizes->search.census = {8, 1, 2, 2, 0, 3};
  run.pareto->stopped = true;
  EXPECT_THAT(run_text(run), HasSubstr("cost: $3,840 on 8 GPUs, the best so far of all sizes from 1 to 8"));
  EXPECT_THAT(run_text(run), HasSubstr("3 not looked at to the end, as the search was stopped"));
  EXPECT_THAT(pareto_text(run), HasSubstr("stopped before its end: there may be others"));
  Json json;
  add_run(run, json);
  EXPECT_EQ(json["sizes"]["not_looked_at"], 3);
  EXPECT_EQ(json["pareto_stopped"], true);
  run.objective.deadline = seconds(86400);
  EXPECT_THAT(run_text(run_answer(run.objective, run.sizes, run.best)),
              HasSubstr("the soonest so far takes"));
  run = run_answer(run.objective, run.sizes, std::nullopt);
  EXPECT_THAT(run_text(run), HasSubstr("cost: stopped before a plan was found on a size from 1 to 8 GPUs\n"));
  run.sizes->search.only_bounded = true;
  EXPECT_THAT(run_text(run),
              HasSubstr("cost: stopped while it was worked out what each size can reach at best: "
                        "none from 1 to 8 GPUs was searched\n"));
  Json none{{"cluster", {{"name", "8 x h100-sxm"}, {"gpu", "h100-sxm"}, {"gpus", 8}}}};
  add_run(run, none);
  EXPECT_TRUE(none["cluster"]["gpus"].is_null()) << "no size was chosen";
  EXPECT_TRUE(none["cluster"]["name"].is_null());
  EXPECT_EQ(none["cluster"]["gpu"], "h100-sxm");
  EXPECT_EQ(none["sizes"]["only_bounded"], true);
  run.pareto = ParetoFront{{}, true};
  EXPECT_EQ(pareto_text(run).find("nothing fits"), std::string::npos);
  EXPECT_THAT(pareto_svg(run, ""), HasSubstr("stopped before a plan was found"));
}

TEST(RunReport, JsonIsInBaseUnits) {
  Json json;
  add_run(priced(), json);
  EXPECT_EQ(json["objective"]["kind"], "cost");
  EXPECT_DOUBLE_EQ(json["objective"]["value"].get<double>(), 3840);
  EXPECT_DOUBLE_EQ(json["run"]["time_s"].get<double>(), 864000);
  EXPECT_DOUBLE_EQ(json["run"]["energy_j"].get<double>(), 864000.0 * 8 * 500);
  EXPECT_EQ(json["run"]["in_time"], true);
  EXPECT_EQ(json["sizes"]["without_legal_plan"], 1);
  ASSERT_EQ(json["pareto"].size(), 3U);
  EXPECT_EQ(json["pareto"][1]["best"], true);
  EXPECT_EQ(json["pareto"][2]["best"], false);
}

TEST(RunReport, WritesTheFront) {
  const RunAnswer run = priced();
  const std::string csv = pareto_csv(run), svg = pareto_svg(run, "a < b");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 4);
  EXPECT_THAT(csv, HasSubstr("8,2,5368709120,10737418240,1000,1,\"dp8"));
  EXPECT_THAT(svg, HasSubstr("a &lt; b"));
  EXPECT_THAT(svg, HasSubstr(">best</text>"));
  EXPECT_THAT(svg, HasSubstr("4 GPUs</text>"));
  const std::string text = pareto_text(run);
  EXPECT_EQ(text.find("best", text.find("best") + 1), std::string::npos);
}

TEST(RunReport, AnEmptyFrontIsDrawnAsSuch) {
  RunAnswer run = run_answer({}, std::nullopt, std::nullopt);
  run.pareto.emplace();
  EXPECT_THAT(pareto_text(run), HasSubstr("nothing fits"));
  EXPECT_THAT(pareto_svg(run, ""), HasSubstr("nothing fits"));
}

}  // namespace
}  // namespace shardplan
