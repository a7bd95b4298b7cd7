#include "cli/in_order.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

namespace shardplan::cli {
namespace {

const auto never = [] { return false; };

TEST(InOrder, TakesEachItemOnceAndInOrder) {
  for (const std::size_t threads : {1U, 2U, 7U, 64U}) {
    std::vector<std::int64_t> taken;
    in_order<std::int64_t>(
        5, 205, threads,
        [](std::int64_t item) {
          if (item % 50 == 5) std::this_thread::sleep_for(std::chrono::milliseconds(5));
          return item * item;
        },
        [&](std::int64_t item, std::int64_t square) {
          EXPECT_EQ(square, item * item);
          taken.push_back(item);
          return true;
        },
        never);
    ASSERT_EQ(taken.size(), 200U) << threads << " threads";
    for (std::size_t i = 0; i < taken.size(); ++i) EXPECT_EQ(taken[i], static_cast<std::int64_t>(i) + 5);
  }
}

TEST(InOrder, NothingToDo) {
  in_order<int>(
      3, 3, 4, [](std::int64_t) { return 0; },
      [](std::int64_t, int) {
        ADD_FAILURE() << "taken";
        return true;
      },
      never);
}

TEST(InOrder, StopsWithoutAGap) {
  std::atomic<bool> stop = false;
  std::atomic<std::int64_t> made = 0;
  std::int64_t taken = 0;
  in_order<std::int64_t>(
      0, 1'000'000, 3,
      [&](std::int64_t item) {
        ++made;
        if (item == 40) stop = true;
        return item;
      },
      [&](std::int64_t item, std::int64_t) {
        EXPECT_EQ(item, taken);
        ++taken;
        return true;
      },
      [&] { return stop.load(); });
  EXPECT_EQ(taken, made);
  EXPECT_GT(taken, 40);
  EXPECT_LT(taken, 1000);
}

TEST(InOrder, TakesNothingAfterARefusal) {
  std::int64_t taken = 0;
  in_order<std::int64_t>(
      0, 1'000'000, 3, [](std::int64_t item) { return item; },
      [&](std::int64_t, std::int64_t) { return ++taken < 10; }, never);
  EXPECT_EQ(taken, 10);
}

TEST(InOrder, WhoIsFarAheadWaits) {
  std::atomic<bool> first_done = false;
  std::atomic<std::int64_t> begun = 0;
  in_order<std::int64_t>(
      0, 500, 2,
      [&](std::int64_t item) {
        ++begun;
        if (item == 0) {
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
          EXPECT_LT(begun, 100);
          first_done = true;
        }
        return item;
      },
      [&](std::int64_t, std::int64_t) {
        EXPECT_TRUE(first_done);
        return true;
      },
      never);
  EXPECT_EQ(begun, 500);
}

}  // namespace
}  // namespace shardplan::cli
