#include "units/format.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

TEST(Format, RoundsWhatIsNeededUpAndWhatMayBeHadDown) {
  EXPECT_EQ(format(rounded_up(bytes_per_s(59.301e9))), "59.31 GB/s");
  EXPECT_EQ(format(rounded_up(rounded_up(bytes_per_s(59.301e9)))), "59.31 GB/s");
  EXPECT_EQ(format(rounded_down(seconds(10.8799e-6))), "10.87 us");
  EXPECT_EQ(format(rounded_down(rounded_down(seconds(10.8799e-6)))), "10.87 us");
  EXPECT_EQ(format(rounded_down(seconds(15e-6))), "15 us");
  EXPECT_EQ(rounded_down(seconds(0)), seconds(0));
}

TEST(Format, OneIsNoPlural) {
  EXPECT_EQ(counted(1, "GPU"), "1 GPU");
  EXPECT_EQ(counted(16384, "GPU"), "16,384 GPUs");
  EXPECT_EQ(counted(2.0, "micro-batch", "es"), "2 micro-batches");
  EXPECT_EQ(counted(0, "token"), "0 tokens");
}

TEST(Parse, TakesTheSuffixOrTheUnitOfTheFlag) {
  EXPECT_EQ(parse_bytes("79.2GiB")->raw(), 79.2 * 1073741824.0);
  EXPECT_EQ(parse_bytes("80GB")->raw(), 80e9);
  EXPECT_EQ(parse_bytes("80", 1073741824.0)->raw(), 80 * 1073741824.0);
  EXPECT_EQ(parse_bandwidth("400Gbit/s")->raw(), 50e9);
  EXPECT_EQ(parse_bandwidth("50", 1e9)->raw(), 50e9);
  EXPECT_DOUBLE_EQ(parse_seconds("15us")->raw(), 15e-6);
  EXPECT_EQ(parse_seconds("15min")->raw(), 900);
  EXPECT_EQ(parse_seconds("36h")->raw(), 129600);
  EXPECT_EQ(parse_flops_per_s("1.2PFLOP/s")->raw(), 1.2e15);
  EXPECT_EQ(parse_count("65", 1e9), 65e9);
  EXPECT_EQ(parse_count("350M"), 350e6);
}

TEST(Parse, RefusesWhatIsNotAFiniteNumberWithItsUnit) {
  for (const char* text : {"", "GiB", "12 parsecs", "1e", "0x10", "nan", "inf", "5GiBGiB", "--5"}) {
    EXPECT_FALSE(parse_bytes(text)) << text;
    EXPECT_FALSE(parse_number(text)) << text;
  }
  EXPECT_FALSE(parse_bandwidth("50us"));
  EXPECT_FALSE(parse_seconds("50GB"));
}

TEST(Parse, ABatchInTokensOrSequences) {
  EXPECT_TRUE(parse_batch("4Mtok")->is_tokens);
  EXPECT_EQ(parse_batch("4Mtok")->value, 4e6);
  EXPECT_FALSE(parse_batch("512")->is_tokens);
  EXPECT_FALSE(parse_batch("4MB"));
}

TEST(Format, FourDigitsAndTheUnitThatReadsBest) {
  EXPECT_EQ(format(gigabytes_per_s(45.75)), "45.75 GB/s");
  EXPECT_EQ(format(microseconds(70.17)), "70.17 us");
  EXPECT_EQ(format(seconds(0.5531)), "553.1 ms");
  EXPECT_EQ(format(gibibytes(72.5)), "72.5 GiB");
  EXPECT_EQ(format_percent(0.984), "98.4 %");
  EXPECT_EQ(format_count(8030261248.0), "8,030,261,248");
  EXPECT_EQ(format_number(0.070174), "0.07017");
}

TEST(Format, ADurationInMinutesHoursOrDays) {
  EXPECT_EQ(format_duration(seconds(59)), "59 s");
  EXPECT_EQ(format_duration(seconds(314)), "5.233 min");
  EXPECT_EQ(format_duration(seconds(11135)), "3.093 h");
  EXPECT_EQ(format_duration(seconds(36 * 3600)), "36 h");
  EXPECT_EQ(format_duration(seconds(3 * 86400)), "3 days");
}

TEST(Printable, ShowsControlCharactersInsteadOfSendingThem) {
  EXPECT_EQ(printable("a\nb\x1b[31m\x7f"), "a\\nb\\x1b[31m\\x7f");
  EXPECT_EQ(printable("h\u00f6 \"x\""), "h\u00f6 \"x\"") << "all else as it is";
}

}  // namespace
}  // namespace shardplan
