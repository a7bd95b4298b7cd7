#include "import/json_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

namespace shardplan {
namespace {

TEST(JsonText, ReadsWhatPythonWrites) {
  const auto j = parse_json(
      R"({"limit": [0.0, Infinity, -Infinity, NaN], "text": "Infinity NaN", "n": -12, "x": 1e-5})", "c");
  ASSERT_TRUE(j);
  EXPECT_TRUE(std::isinf((*j)["limit"][1].get<double>()));
  EXPECT_LT((*j)["limit"][2].get<double>(), 0);
  EXPECT_TRUE(std::isnan((*j)["limit"][3].get<double>()));
  EXPECT_EQ((*j)["text"], "Infinity NaN");
  EXPECT_EQ((*j)["n"].get<int>(), -12);
  EXPECT_DOUBLE_EQ((*j)["x"].get<double>(), 1e-5);
}

TEST(JsonText, KeepsTheOrderOfKeysWhereAsked) {
  EXPECT_EQ(parse_ordered_json(R"({"b": 1, "a": {"d": [], "c": 2}})", "c")->dump(),
            R"({"b":1,"a":{"d":[],"c":2}})");
  EXPECT_EQ(parse_ordered_json(R"({"b": 1, "b": 2})", "c").error().code, "duplicate_key");
  std::string many = "{";
  for (std::size_t i = 0; i <= kOrderedKeysMax; ++i)
    many += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":0";
  EXPECT_EQ(parse_ordered_json(many + "}", "c").error().code, "too_large");
  EXPECT_TRUE(parse_json(many + "}", "c"));
}

TEST(JsonText, LeavesFloatObjectsToTheReader) {
  EXPECT_EQ((*parse_json(R"({"a": {"__float__": "Infinity"}})", "c"))["a"]["__float__"], "Infinity");
}

TEST(JsonText, ReadsEscapesAndUtf8) {
  EXPECT_EQ(*parse_json(R"("\u0041\u00e9\ud83d\ude00\n\/")", "c"), "A\xC3\xA9\xF0\x9F\x98\x80\n/");
  EXPECT_EQ(*parse_json("\"\xC3\xA9\"", "c"), "\xC3\xA9");
  EXPECT_EQ(*parse_json("\xEF\xBB\xBF 1", "c"), 1);
}

TEST(JsonText, KeepsLargeWholeNumbersAndRoundsLargerOnes) {
  EXPECT_EQ(parse_json("9223372036854775807", "c")->get<std::int64_t>(), INT64_MAX);
  EXPECT_TRUE(parse_json("92233720368547758070", "c")->is_number_float());
  EXPECT_TRUE(std::isinf(parse_json("1e999", "c")->get<double>()));
  EXPECT_EQ(parse_json("1e-999", "c")->get<double>(), 0.0);
}

struct Bad {
  const char* text;
  const char* code;
  const char* where;
};

TEST(JsonText, RefusesWithLineAndColumn) {
  const Bad rows[] = {
      {"", "truncated", "c:1:1"},
      {"{\"a\": 1,\n \"b\": ", "truncated", "c:2:7"},
      {"{\"a\": 1, \"a\": 2}", "duplicate_key", "c:1:10"},
      {"{\"a\": 1} x", "trailing_text", "c:1:10"},
      {"{'a': 1}", "syntax", "c:1:2"},
      {"{\"a\": 01}", "syntax", "c:1:7"},
      {"{\"a\": 1.}", "syntax", "c:1:7"},
      {"{\"a\": +1}", "syntax", "c:1:7"},
      {"{\"a\": inf}", "syntax", "c:1:7"},
      {"[1, 2,]", "syntax", "c:1:7"},
      {"[1 2]", "syntax", "c:1:4"},
      {"\"a", "truncated", "c:1:3"},
      {"\"\\x\"", "syntax", "c:1:2"},
      {"\"\\ud800\"", "syntax", "c:1:2"},
      {"\"\xff\"", "encoding", "c:1:2"},
      {"\"\xC0\x80\"", "encoding", "c:1:2"},
  };
  for (const Bad& row : rows) {
    const auto j = parse_json(row.text, "c");
    ASSERT_FALSE(j) << row.text;
    EXPECT_EQ(j.error().code, row.code) << row.text;
    EXPECT_EQ(j.error().where, row.where) << row.text;
    EXPECT_FALSE(j.error().expected.empty());
    EXPECT_EQ(j.error().message.find('\n'), std::string::npos);
  }
}

TEST(JsonText, RefusesDepthAndSize) {
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(parse_json(nested(64), "c"));
  EXPECT_EQ(parse_json(nested(66), "c").error().code, "too_deep");
  EXPECT_EQ(parse_json(std::string(1'000'000, '['), "c").error().code, "too_deep");
  EXPECT_EQ(parse_json(std::string(kJsonBytesMax + 1, ' '), "c").error().code, "too_large");
}

TEST(JsonText, ReadsOnlyRegularFilesWithinTheLimit) {
  const std::string folder = ::testing::TempDir();
  const std::string path = folder + "/json_text_test.txt";
  std::ofstream(path) << "hello";
  EXPECT_EQ(*read_text_file(path), "hello");
  EXPECT_EQ(read_text_file(path, 4).error().code, "too_large");
  EXPECT_EQ(read_text_file(folder).error().code, "not_a_file");
  EXPECT_EQ(read_text_file("/dev/zero").error().code, "not_a_file");
  EXPECT_EQ(read_text_file(folder + "/no/such").error().code, "no_such_file");
  EXPECT_EQ(read_text_file("").error().code, "no_such_file");
  std::filesystem::resize_file(path, std::uintmax_t{2} << 30);  // sparse: takes no room
  EXPECT_EQ(read_text_file(path).error().code, "too_large");
  std::filesystem::remove(path);
}

TEST(JsonText, FindsTheNearestName) {
  const std::vector<std::string> names = {"llama", "qwen2", "qwen3_moe", "deepseek_v3"};
  EXPECT_EQ(nearest_name("lamma", names), "llama");
  EXPECT_EQ(nearest_name("LLAMA", names), "llama");
  EXPECT_EQ(nearest_name("qwen3moe", names), "qwen3_moe");
  EXPECT_EQ(nearest_name("deepseek_v5", names), "deepseek_v3");
  EXPECT_EQ(nearest_name("resnet", names), "");
  const std::vector<std::string> objectives{"step-time", "tokens-per-gpu", "cost", "cost-per-token"};
  EXPECT_EQ(nearest_name("step", objectives), "step-time");
  EXPECT_EQ(nearest_name("tokens", objectives), "tokens-per-gpu");
  EXPECT_EQ(nearest_name("cos", objectives), "cost");  // by letters; two names start so
  EXPECT_EQ(nearest_name("st", objectives), "");
  EXPECT_EQ(nearest_name("", names), "");
}

}  // namespace
}  // namespace shardplan
