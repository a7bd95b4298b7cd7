#include "report/html_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardplan {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(HtmlParts, ATextIsEscapedWhereverItStands) {
  const std::string hostile = "<script>alert(\"1\" & '2')</script>\x1b";
  const std::string safe = "&lt;script&gt;alert(&quot;1&quot; &amp; '2')&lt;/script&gt;\\x1b";
  EXPECT_EQ(element("p", hostile).html(), "<p>" + safe + "</p>");
  EXPECT_EQ(element("p", {{"title", hostile}}, "").html(), "<p title=\"" + safe + "\"></p>");
  EXPECT_EQ(breakable(hostile).html(), safe);
  HtmlTable table(hostile, "lr", {hostile, "value"});
  table.row({hostile, "1"});
  for (const std::string& html :
       {table.markup().html(), page(hostile, "", hostile), sections({{hostile, "id", hostile}}).html()}) {
    EXPECT_THAT(html, HasSubstr(safe));
    EXPECT_THAT(html, Not(HasSubstr("<script")));
  }
}

TEST(HtmlParts, MarkupIsNotEscapedTwice) {
  EXPECT_EQ(element("p", Markup("a < ") + element("b", "b")).html(), "<p>a &lt; <b>b</b></p>");
  EXPECT_EQ(list({Markup("1 < 2"), Markup("3")}).html(), "<ul><li>1 &lt; 2</li><li>3</li></ul>");
}

TEST(HtmlParts, ATagMayNameAClass) {
  EXPECT_EQ(element("td.number", {{"id", "x"}}, "1").html(), "<td class=\"number\" id=\"x\">1</td>");
  EXPECT_EQ(empty_element("rect.spare", {{"x", "0"}}).html(), "<rect class=\"spare\" x=\"0\"/>");
}

TEST(HtmlParts, APlansNameMayBreakAtItsDots) {
  EXPECT_EQ(breakable("dp2·tp8·z1").html(), "dp2·<wbr/>tp8·<wbr/>z1");
  EXPECT_EQ(breakable("no dots").html(), "no dots");
}

TEST(HtmlParts, ATableHeadsItsRowsAndColumns) {
  HtmlTable table("times", "lr", {"term", "time"});
  EXPECT_TRUE(table.markup().empty()) << "without a row there is none";
  table.row({"gemm", "1 s"});
  table.last_row({"step", "1 s"});
  const std::string html = table.markup().html();
  EXPECT_THAT(html, HasSubstr("<caption>times</caption><thead><tr><th scope=\"col\">term</th>"));
  EXPECT_THAT(html, HasSubstr("<tr><th scope=\"row\">gemm</th><td class=\"number\">1 s</td></tr>"));
  EXPECT_THAT(html, HasSubstr("<tfoot><tr><th scope=\"row\">step</th>"));
}

TEST(HtmlParts, CellsOfManyColumnsOfWordsSayWhatTheyAreOf) {
  HtmlTable table("risks", "www", {"risk", "symptom", "watch"});
  table.row({"a", "b", "c"});
  const std::string html = table.markup().html();
  EXPECT_THAT(html, HasSubstr("<table class=\"stacked\">"));
  EXPECT_THAT(html, HasSubstr("<td class=\"words\" data-head=\"symptom\">b</td>"));
}

TEST(HtmlParts, SectionsWithoutContentAreNeitherShownNorLinked) {
  const std::vector<Section> all{{"First", "first", "here"}, {"Second", "second", {}}};
  EXPECT_THAT(sections(all).html(), Not(HasSubstr("Second")));
  EXPECT_EQ(contents(all).html(),
            "<nav aria-label=\"Contents\"><ul><li><a href=\"#first\">First</a></li></ul></nav>");
}

TEST(HtmlParts, APageLoadsNothing) {
  const std::string html = page("title", "p { margin: 0 }", paragraph("text"));
  EXPECT_THAT(html, StartsWith("<!DOCTYPE html>\n<html "));
  EXPECT_THAT(html, HasSubstr("default-src 'none'; style-src 'unsafe-inline'"));
  EXPECT_THAT(html, HasSubstr("<style>p { margin: 0 }</style>"));
}

}  // namespace
}  // namespace shardplan
