#include "report/html_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "import/flag_list.h"
#include "report/finding_lines.h"
#include "report/html_charts.h"

namespace shardplan {
namespace {

/// What is read, without the buttons that open formulas.
std::string without_buttons(const std::string& html) {
  return std::regex_replace(html, std::regex("</?button[^>]*>"), "");
}

using testing::HasSubstr;
using testing::Not;

Question question(const std::vector<std::pair<std::string, std::string>>& more) {
  std::vector<std::pair<std::string, std::string>> flags{{"--gpu", "h100-sxm"}};
  flags.insert(flags.end(), more.begin(), more.end());
  return question_from_flags(Purpose::kPlan, flags, catalog()).value();
}

std::string html_of(const Question& q) {
  const Estimator estimator(q);
  const Answer a = answer(estimator, q.fixed);
  return plan_html(estimator, a, run_answer({}, {}, a.result.best), {});
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(HtmlReport, SaysWhatTheTextSays) {
  const Question q = question({{"--preset", "llama3-8b"}, {"--gpus", "8"}, {"--global-batch", "64"}});
  const Estimator estimator(q);
  const Answer a = answer(estimator, q.fixed);
  const std::string html = without_buttons(plan_html(estimator, a, run_answer({}, {}, a.result.best), {}));
  const auto shown = [&](const std::string& text) { return HasSubstr(breakable(text).html()); };
  EXPECT_THAT(html, shown(a.binding.statement));
  for (const AxisFinding& x : a.axes) EXPECT_THAT(html, shown(x.reason));
  for (const UnusedAxis& x : a.not_used) EXPECT_THAT(html, shown(x.reason));
  for (const FailureMode& f : a.failure_modes) EXPECT_THAT(html, shown(f.statement));
  for (const Threshold& t : a.thresholds) {
    EXPECT_THAT(html, shown(t.then));
    EXPECT_THAT(html, shown(threshold_value(t.threshold, t.unit)));
  }
  for (const Unknown& u : a.unknowns) EXPECT_THAT(html, shown(u.statement));
  for (const NearRun& n : a.nearest) EXPECT_THAT(html, shown(n.run.id));
  for (const std::string& line : q.assumed) EXPECT_THAT(html, shown(line));
}

TEST(HtmlReport, NumbersOfSentencesOpenTheirFormulas) {
  const Question q = question({{"--preset", "llama3-70b"}, {"--gpus", "64"}, {"--global-batch", "512"}});
  const Estimator estimator(q);
  const Answer a = answer(estimator, q.fixed);
  const std::string html = plan_html(estimator, a, run_answer({}, {}, a.result.best), {});
  const std::size_t from = html.find("id=\"axes\""), to = html.find("id=\"others\"");
  ASSERT_LT(from, to);
  EXPECT_GE(count(html.substr(from, to - from), "popovertarget"), 3U);
}

TEST(HtmlReport, EachTermOpensItsFormula) {
  const Question q = question({{"--preset", "llama3-8b"}, {"--gpus", "8"}, {"--global-batch", "64"}});
  const Estimator estimator(q);
  const Answer a = answer(estimator, q.fixed);
  const std::string html = plan_html(estimator, a, run_answer({}, {}, a.result.best), {});
  std::size_t terms = 0;
  for (const TimeEntry<>& e : a.result.best->time.terms) terms += e.time > seconds(0) ? 1 : 0;
  for (const Bytes<> term : a.result.best->memory.terms) terms += term > bytes(0) ? 1 : 0;
  // Step, throughput, MFU, HFU and what is left of memory, then each term; numbers of sentences besides.
  EXPECT_GE(count(html, "<button class=\"value\""), 5 + terms);
  EXPECT_GT(count(html, "<article class=\"card\""), terms);
}

TEST(HtmlReport, WhereNothingFitsItShowsThePlanThatComesClosest) {
  const std::string html = html_of(question({{"--preset", "llama3-405b"}, {"--gpus", "8"}}));
  EXPECT_THAT(html, HasSubstr("nothing fits"));
  EXPECT_THAT(html, HasSubstr("Memory of the plan that comes closest"));
  EXPECT_THAT(html, HasSubstr("too much on stage 0"));
  EXPECT_THAT(html, HasSubstr("rejected: state"));
  EXPECT_THAT(html, HasSubstr("<button class=\"value\""));
  EXPECT_THAT(html, Not(HasSubstr("Time of one step")));
}

TEST(HtmlReport, WhereNothingFitsItSaysWhyAndWhatWould) {
  const Question q = question({{"--preset", "llama3-70b"}, {"--gpus", "4"}});
  const Estimator estimator(q);
  const Answer a = answer(estimator, q.fixed);
  ASSERT_TRUE(a.nothing_fits);
  const std::string html = plan_html(estimator, a, run_answer({}, {}, a.result.best), {});
  const auto shown = [&](const std::string& text) { return HasSubstr(breakable(text).html()); };
  EXPECT_THAT(html, shown(a.nothing_fits->proof));
  for (const Limit& limit : a.nothing_fits->limits) EXPECT_THAT(html, shown(limit.statement));
  ASSERT_FALSE(a.nothing_fits->changes.empty());
  for (const FittingChange& change : a.nothing_fits->changes) {
    EXPECT_THAT(html, shown(change.statement));
    EXPECT_THAT(html, shown(change.price));
  }
}

TEST(HtmlReport, StagesThatHoldTheSameAreDrawnOnce) {
  MemoryBreakdown<> first, inner;
  first[MemoryTerm::kWeights] = gibibytes(2);
  inner[MemoryTerm::kWeights] = gibibytes(1);
  const StageMemory stages{{first, inner, inner, inner, first}, gibibytes(3), gibibytes(4), 0, 0, 5};
  const std::string html = memory_figure(stages, FormulaCards({}), {}).html();
  EXPECT_EQ(count(html, "<svg class=\"bar\""), 3U);
  EXPECT_THAT(html, HasSubstr("stages\u00a01 to\u00a03"));
}

}  // namespace
}  // namespace shardplan
