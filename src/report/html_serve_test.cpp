#include "report/html_serve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/flag_list.h"
#include "report/html_parts.h"
#include "units/format.h"

namespace shardplan {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ServeAnswer answer_of(const FlagList& more) {
  FlagList flags{{"--preset", "llama3-70b"}, {"--gpu", "h100-sxm"}, {"--gpus", "8"}, {"--batch", "16"}};
  flags.insert(flags.end(), more.begin(), more.end());
  return serve_answer(serve_question_from_flags(flags, catalog()).value());
}

TEST(ServeHtml, SaysWhatTheAnswerSaysAndOpensItsFormulas) {
  const ServeAnswer a = answer_of({{"--tpot-ms", "30"}});
  const std::string html = serve_html(a);
  EXPECT_THAT(html, HasSubstr("meets 30 ms"));
  EXPECT_THAT(html, HasSubstr(html_escaped(a.findings.binding.statement)));
  for (const AxisFinding& x : a.findings.axes) EXPECT_THAT(html, HasSubstr(html_escaped(x.reason)));
  for (const UnusedAxis& x : a.findings.not_used) EXPECT_THAT(html, HasSubstr(html_escaped(x.reason)));
  for (const FailureMode& f : a.findings.failure_modes)
    EXPECT_THAT(html, HasSubstr(html_escaped(f.statement)));
  for (const char* formula : {"decode.weight_read", "decode.kv_cache", "decode.tokens_per_second"})
    EXPECT_THAT(html, HasSubstr(formula));
  const std::string token = ">" + format(a.shown().cost.step()) + "</button>";
  EXPECT_THAT(html, HasSubstr(token));
  EXPECT_THAT(html, HasSubstr("Every legal degree"));
}

TEST(ServeHtml, SaysWhatDoesNotFitAndWhatIsTooLate) {
  const std::string large = serve_html(answer_of({{"--tp", "1"}}));
  EXPECT_THAT(large, HasSubstr("does not fit"));
  EXPECT_THAT(large, HasSubstr("memory too much"));
  EXPECT_THAT(large, Not(HasSubstr("memory left free</dt>")));
  EXPECT_THAT(serve_html(answer_of({{"--tp", "8"}, {"--tpot-ms", "5"}})), HasSubstr("misses 5 ms"));
}

}  // namespace
}  // namespace shardplan
