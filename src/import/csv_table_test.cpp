#include "import/csv_table.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

TEST(Csv, QuotedFieldsAndMissingColumns) {
  const auto table = read_csv("id,notes\n1,\"a, \"\"b\"\"\nc\"\n2,\n", "runs.csv");
  ASSERT_TRUE(table);
  ASSERT_EQ(table->size(), 2U);
  const CsvRow first{*table, 0}, second{*table, 1};
  EXPECT_EQ(first["notes"], "a, \"b\"\nc");
  EXPECT_EQ(second["notes"], "");
  EXPECT_EQ(first["gpus"], "") << "no such column";
  EXPECT_FALSE(table->has("gpus"));
  const auto marked = read_csv("\xEF\xBB\xBFid,notes\n1,a\n", "runs.csv");
  ASSERT_TRUE(marked);
  EXPECT_TRUE(marked->has("id")) << "after a byte order mark";
}

TEST(Csv, WrongTablesPointAtTheLine) {
  const auto where = [](const char* text) {
    const auto table = read_csv(text, "x.csv");
    return table ? std::string("read") : table.error().where + " " + table.error().code;
  };
  EXPECT_EQ(where(""), "x.csv:1 bad_table");
  EXPECT_EQ(where("a,b\n1\n"), "x.csv:2 bad_table");
  EXPECT_EQ(where("a,a\n1,2\n"), "x.csv:1 bad_table") << "a column twice";
  EXPECT_EQ(where("a,b\n1,2\n\"open,3\n"), "x.csv:3 bad_table");
}

}  // namespace
}  // namespace shardplan
