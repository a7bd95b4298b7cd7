#include "report/html_serve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "import/flag_list.h"
#include "report/html_parts.h"
#include "report/serve_report.h"
#include "units/format.h"

namespace shardplan {
namespace {

/// What is read, without the buttons that open formulas.
std::string without_buttons(const std::string& html) {
  return std::regex_replace(html, std::regex("</?button[^>]*>"), "");
}

using ::testing::HasSubstr;
using ::testing::Not;

ServeAnswer answer_of(const FlagList& more) {
  FlagList flags{{"--preset", "llama3-70b"}, {"--gpu", "h100-sxm"}, {"--gpus", "8"}, {"--batch", "16"}};
  flags.insert(flags.end(), more.begin(), more.end());
  return serve_answer(serve_question_from_flags(flags, catalog()).value());
}

TEST(ServeHtml, SaysWhatTheAnswerSaysAndOpensItsFormulas) {
  const ServeAnswer a = answer_of({{"--tpot-ms", "30"}});
  const std::string html = serve_html(a), plain = without_buttons(html);
  EXPECT_THAT(html, HasSubstr("meets 30 ms"));
  EXPECT_THAT(plain, HasSubstr(html_escaped(a.findings.binding.statement)));
  for (const AxisFinding& x : a.findings.axes) EXPECT_THAT(plain, HasSubstr(html_escaped(x.reason)));
  for (const UnusedAxis& x : a.findings.not_used) EXPECT_THAT(plain, HasSubstr(html_escaped(x.reason)));
  for (const FailureMode& f : a.findings.failure_modes)
    EXPECT_THAT(plain, HasSubstr(html_escaped(f.statement)));
  for (const char* formula : {"serving.read", "serving.request_cache", "serving.cache_pool"})
    EXPECT_THAT(html, HasSubstr(formula));
  const std::string token = ">" + format(a.shown().cost.tpot) + "</button>";
  EXPECT_THAT(html, HasSubstr(token));
  EXPECT_THAT(html, HasSubstr("Every legal split"));
}

TEST(ServeHtml, HasEveryNumberOfTheText) {
  for (const FlagList& flags : {FlagList{{"--tpot-ms", "30"}}, {{"--tp", "2"}}, {{"--gpus", "16"}}}) {
    const ServeAnswer a = answer_of(flags);
    const std::string text = serve_text(a), html = serve_html(a);
    const std::regex number("[0-9][0-9,.]* (GiB|KiB|tokens/s|ms|us|s|sequences?|all-reduces?|GPUs?)");
    int seen = 0;
    for (std::sregex_iterator at(text.begin(), text.end(), number), end; at != end; ++at, ++seen)
      EXPECT_THAT(html, HasSubstr(at->str()));
    EXPECT_GT(seen, 20);
  }
}

TEST(ServeHtml, SaysWhatDoesNotFitAndWhatIsTooLate) {
  const std::string large = serve_html(answer_of({{"--tp", "1"}, {"--pp", "1"}}));
  EXPECT_THAT(large, HasSubstr("does not fit"));
  EXPECT_THAT(large, HasSubstr("memory too much"));
  EXPECT_THAT(large, Not(HasSubstr("memory left free</dt>")));
  EXPECT_THAT(serve_html(answer_of({{"--tp", "8"}, {"--tpot-ms", "5"}})), HasSubstr("misses 5 ms"));
}

}  // namespace
}  // namespace shardplan
