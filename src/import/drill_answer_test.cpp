#include "import/drill_answer.h"

#include <gmock/gmock.h>

#include "import/json_text.h"

namespace shardplan {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const DrillForm& form() {
  static const DrillForm kForm{{{1, {"8", "16", "64"}}, {2, {"A", "B", "C", "D"}}},
                               {"state", "latency", "memory"}};
  return kForm;
}

Result<DrillAnswer> read(std::string_view text) { return read_drill_answer(text, "a.toml", form()); }

std::string wrong_at(std::string_view text) {
  const auto answer = read(text);
  EXPECT_FALSE(answer) << text;
  return answer ? "" : answer.error().where;
}

TEST(DrillAnswer, ReadsAWholeFile) {
  const auto text = read_text_file(std::string(SHARDPLAN_SOURCE_DIR) + "/tests/data/drill/good-2.toml");
  ASSERT_TRUE(text);
  DrillForm all = form();
  all.kinds = {"state", "activations", "latency", "throughput"};
  const auto answer = read_drill_answer(*text, "good-2.toml", all);
  ASSERT_TRUE(answer) << answer.error().where << " " << answer.error().message;
  EXPECT_EQ(answer->drill, 2);
  ASSERT_EQ(answer->scenarios.size(), 4U);
  EXPECT_EQ(answer->scenarios[2].plan->cp, 8);
  EXPECT_EQ(answer->scenarios[2].axes.size(), 2U);
  EXPECT_EQ(answer->scenarios[0].plan->recompute, Recompute::kSelective);
}

TEST(DrillAnswer, ReadsJsonToo) {
  const auto answer =
      read(R"({"drill": 2, "scenario": {"D": {"plan": {"tp": 8, "dp": 8}, "unknowns": ["x"]}}})");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->scenarios[0].plan->gpus(), 64);
  EXPECT_TRUE(answer->scenarios[0].plan->sequence_parallel);
}

TEST(DrillAnswer, KeysThatTheParserAssertsOnAreBadInput) {
  for (const char* text : {"[.]", "[[", "[ .a]", "[{\"drill\":1}]", "["}) {
    const auto answer = read(text);
    ASSERT_FALSE(answer) << text;
    EXPECT_EQ(answer.error().code, "bad_toml") << text;
  }
}

TEST(DrillAnswer, WhatIsLeftOutIsEmpty) {
  const auto answer = read("drill = 2\n[scenario.A]\n[scenario.A.plan]\n");
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->scenarios[0].plan);
  EXPECT_FALSE(answer->scenarios[0].no_plan);
}

TEST(DrillAnswer, ErrorsNameTheLine) {
  EXPECT_THAT(wrong_at("drill = 2\n[scenario.A\n"), StartsWith("a.toml:2"));
  EXPECT_THAT(wrong_at("drill = 2\n[scenario.A.plan]\ndp = 64\ntq = 8\n"),
              StartsWith("a.toml:4: scenario.A.plan.tq"));
  EXPECT_THAT(wrong_at("drill = 2\n\n[scenario.A.plan]\ndp = \"64\"\n"), StartsWith("a.toml:4: "));
  EXPECT_THAT(wrong_at("drill = 2\n[scenario.A.plan]\ndp = 0\n"), StartsWith("a.toml:3: "));
  EXPECT_THAT(wrong_at("drill = 2\n[scenario.A]\naxes = [{ axis = \"dp\" }]\n"), StartsWith("a.toml:3: "));
  EXPECT_THAT(wrong_at("drill = 2\n[scenario.E]\n"), StartsWith("a.toml:2: scenario.E"));
  EXPECT_THAT(wrong_at("drill = 2\n[scenario.A.constraint]\nkind = \"stat\"\n"), StartsWith("a.toml:3: "));
  EXPECT_THAT(read("[scenario.A]\n").error().message, HasSubstr("drill"));
  EXPECT_THAT(wrong_at("drill = 2\n[scenario.A]\nno_plan = true\n[scenario.A.plan]\ndp = 8\n"),
              StartsWith("a.toml:4"));
}

TEST(DrillAnswer, ANumberThatIsNoDrillHasItsLineAndThoseThatThereAre) {
  const auto answer = read("# mine\ndrill = 7\n[scenario.A]\n");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().where, "a.toml:2: drill");
  EXPECT_EQ(answer.error().message, "no drill 7");
  EXPECT_EQ(answer.error().expected, "one of 1, 2");
}

TEST(DrillAnswer, ErrorsNameTheNearest) {
  EXPECT_EQ(read("drill = 2\n[scenario.A.constraint]\nkind = \"stat\"\n").error().nearest, "state");
  EXPECT_EQ(read("drill = 2\n[scenario.A]\nunknown = []\n").error().nearest, "unknowns");
}

TEST(DrillAnswer, HostileFilesAreErrors) {
  EXPECT_FALSE(read(std::string(2 << 20, 'a')));
  EXPECT_FALSE(read("drill = 2\n[scenario.A]\nunknowns = " + std::string(5000, '[')));
  EXPECT_FALSE(read("drill = 2\n[scenario.A]\nunknowns = [" + std::string(100000, '\'') + "]"));
  EXPECT_FALSE(read("drill = 9223372036854775807"));
  EXPECT_FALSE(read("drill = nan"));
  EXPECT_FALSE(read("drill = 1979-05-27"));
  EXPECT_FALSE(read("drill = 2\n[scenario.A.plan]\ndp = 99999999999\n"));
  EXPECT_FALSE(read("drill = 2\n[scenario.A.plan]\ndp = 1.5\n"));
  EXPECT_FALSE(read("drill = 2\n\"a\\u0000\\u001b[31mb\" = 1\n"));
  EXPECT_FALSE(read("\xff\xfe\x00"));
  EXPECT_FALSE(read("{\"drill\": 2, \"scenario\": [1, 2]}"));
  EXPECT_FALSE(read("{" + std::string(100000, '[')));
  EXPECT_FALSE(read(""));
}

TEST(DrillAnswer, ErrorsStayOneLineOfText) {
  const auto answer = read("drill = 2\n\"a\\nb\\u001b[31m" + std::string(500, 'c') + "\" = 1\n");
  ASSERT_FALSE(answer);
  for (const std::string& text : {answer.error().where, answer.error().message}) {
    EXPECT_EQ(text.find('\n'), std::string::npos);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_LT(text.size(), 300U);
  }
}

}  // namespace
}  // namespace shardplan
