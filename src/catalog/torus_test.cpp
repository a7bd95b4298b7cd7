#include "catalog/torus.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

const TorusPod kCubes{{16, 20, 28}, 4, {}};  // TPU v5p
const TorusPod kFlat{{16, 16, 1}, 0, {}};    // TPU v5e

TEST(Torus, TheMostCubicSlicesAreThoseOfTheVendorsTable) {
  // https://docs.cloud.google.com/tpu/docs/v5p, single-slice shapes
  for (const auto& [chips, shape] : {std::pair{4, "2x2x1"},
                                     {8, "2x2x2"},
                                     {32, "2x4x4"},
                                     {64, "4x4x4"},
                                     {128, "4x4x8"},
                                     {256, "4x8x8"},
                                     {512, "8x8x8"},
                                     {1024, "8x8x16"},
                                     {2048, "8x16x16"},
                                     {4096, "16x16x16"},
                                     {6144, "16x16x24"}}) {
    const Torus torus = most_cubic(kCubes, chips);
    EXPECT_EQ(shape_text(torus), shape);
    EXPECT_TRUE(torus.offered) << shape;
    EXPECT_EQ(torus.chips(), chips);
    EXPECT_EQ(torus.rings[0] && torus.rings[1] && torus.rings[2], chips >= 64) << shape;
  }
}

TEST(Torus, WithoutSwitchesAnAxisClosesWhereItIsAsLongAsThePod) {
  EXPECT_EQ(most_cubic(kFlat, 32).rings, (std::array<bool, 3>{false, false, false}));
  const Torus half = most_cubic(kFlat, 128);
  EXPECT_EQ(shape_text(half), "8x16");
  EXPECT_EQ(half.rings, (std::array<bool, 3>{false, true, false}));
  EXPECT_TRUE(most_cubic(kFlat, 256).rings[0]);
}

TEST(Torus, ANumberOfChipsThatIsNoSliceIsSaidToBeNone) {
  EXPECT_FALSE(most_cubic(kCubes, 48).offered);
  EXPECT_FALSE(most_cubic(kCubes, 61).offered);
  EXPECT_EQ(most_cubic(kCubes, 61).chips(), 61);
  EXPECT_FALSE(most_cubic(kFlat, 512).offered);
}

TEST(Torus, AToldShapeMustFitInThePod) {
  EXPECT_EQ(shape_text(*slice_of(kCubes, {4, 4, 32})), "4x4x32");  // switches join cubes in any shape
  EXPECT_FALSE(slice_of(kCubes, {32, 32, 32}).has_value());
  EXPECT_FALSE(slice_of(kFlat, {2, 32, 1}).has_value());
  EXPECT_FALSE(slice_of(kFlat, {2, 4, 4}).has_value());
}

TEST(Torus, ReadsAShapeAndNothingElse) {
  EXPECT_EQ(extents_of("4x4x8"), (std::array<std::int64_t, 3>{4, 4, 8}));
  EXPECT_EQ(extents_of("16x16"), (std::array<std::int64_t, 3>{16, 16, 1}));
  for (const char* wrong :
       {"", "64", "4x", "x4", "4x4x4x4", "4x-4", "4 x 4", "4x4x99999999999999999999", "0x4"})
    EXPECT_FALSE(extents_of(wrong).has_value()) << wrong;
}

}  // namespace
}  // namespace shardplan
