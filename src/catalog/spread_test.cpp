#include "catalog/spread.h"

#include <gtest/gtest.h>

#include <cmath>

namespace shardplan {
namespace {

std::optional<Spread> of_note(const char* note) {
  Source source;
  source.note = note;
  return spread_of(source);
}

TEST(Spread, TheLargerOfFitAndSourcesIsTaken) {
  EXPECT_DOUBLE_EQ(of_note("+- 21 %, jackknife over sources 17 %")->size, 0.21);
  EXPECT_DOUBLE_EQ(of_note("+- 14 %, jackknife over sources 1.6e+02 %")->size, 1.6);
  EXPECT_DOUBLE_EQ(of_note("+- 0.053, jackknife over sources 0.07")->size, 0.07);
}

TEST(Spread, OfItIsOfItsLogarithm) {
  const Spread spread = *of_note("+- 0.014 of it, jackknife over (model, GPU, engine) 0.06");
  EXPECT_TRUE(spread.of_logarithm);
  EXPECT_DOUBLE_EQ(spread.size, 0.06);
  EXPECT_EQ(spread_words(spread), "+- 6 %");
}

TEST(Spread, AShareIsOfItsLogarithmAndABareNumberIsAbsolute) {
  const Spread positive = *of_note("+- 10 %"), share = *of_note("prior 0.25 +- 0.12");
  EXPECT_NEAR(positive.low(200), 200 * std::exp(-0.1), 1e-9);
  EXPECT_NEAR(positive.high(200), 200 * std::exp(0.1), 1e-9);
  EXPECT_DOUBLE_EQ(share.low(0.3), 0.18);
  EXPECT_DOUBLE_EQ(share.high(0.3), 0.42);
}

TEST(Spread, APriorCountsWhereTheRowsSayNothing) {
  EXPECT_DOUBLE_EQ(of_note("prior 5e-05 +- 50 %")->size, 0.5);
}

TEST(Spread, OtherNotesSayNone) {
  for (const char* note :
       {"", "a100-80gb-sxm", "+- ", "prior of the NeMo rows", "gradients are reduced in 16 bits",
        "host time a kernel; other frameworks 1 to 15 us", "prior 5 of +- 2"})
    EXPECT_FALSE(of_note(note)) << note;
}

}  // namespace
}  // namespace shardplan
