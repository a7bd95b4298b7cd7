#include "graph/torus_layout.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

Torus cubes(std::int64_t chips) { return most_cubic({{16, 20, 28}, 4, {}}, chips); }

std::string text(const TorusLayout& layout) {
  std::string all;
  for (const TorusAxis& axis : layout) {
    if (axis.ranks <= 1) continue;
    all += (axis.ring ? "ring " : "line ") + std::to_string(axis.ranks) +
           (axis.step > 1 ? "/" + std::to_string(axis.step) : "") + " ";
  }
  return all;
}

TEST(TorusLayout, RanksFillTheAxesInOrder) {
  const Torus torus = cubes(128);  // 4x4x8
  EXPECT_EQ(text(torus_layout(torus, {1, 2})), "line 2 ");
  EXPECT_EQ(text(torus_layout(torus, {1, 4})), "ring 4 ");
  EXPECT_EQ(text(torus_layout(torus, {1, 8})), "ring 4 line 2 ");
  EXPECT_EQ(text(torus_layout(torus, {1, 128})), "ring 4 ring 4 ring 8 ");
  EXPECT_EQ(text(torus_layout(torus, {16, 8})), "ring 8 ");
}

TEST(TorusLayout, GroupsBetweenEachOthersRanksShareTheLinks) {
  const Torus torus = cubes(128);
  EXPECT_EQ(text(torus_layout(torus, {2, 64})), "ring 2/2 ring 4 ring 8 ");
  EXPECT_EQ(text(torus_layout(torus, {8, 16})), "ring 2/2 ring 8 ");
  EXPECT_EQ(text(torus_layout(torus, {64, 2})), "ring 2/4 ");
}

TEST(TorusLayout, AGroupAcrossTheAxesStillHasAllItsRanks) {
  const Torus torus = cubes(64);
  for (const std::int64_t count : {3, 5, 6, 7, 12, 21}) {
    std::int64_t held = 1;
    for (const TorusAxis& axis : torus_layout(torus, {1, count})) held *= axis.ranks;
    EXPECT_GE(held, count);
  }
}

}  // namespace
}  // namespace shardplan
