#include "search/search_watch.h"

#include <gtest/gtest.h>

#include <string>

namespace shardplan {
namespace {

TEST(SearchWatch, TellsTheWorkInHandElseTheLayouts) {
  SearchWatch watch;
  watch.layouts = 9;
  watch.searched = 4;
  EXPECT_EQ(std::string(watch.stage().of), "layouts");
  EXPECT_EQ(watch.stage().done, 4);
  EXPECT_EQ(watch.stage().all, 9);
  {
    WatchedItems sizes(&watch, "sizes", 12);
    EXPECT_EQ(watch.stage().done, 4) << "nothing of it is begun";
    EXPECT_TRUE(sizes.next());
    EXPECT_TRUE(sizes.next());
    EXPECT_EQ(std::string(watch.stage().of), "sizes");
    EXPECT_EQ(watch.stage().done, 2);
    EXPECT_EQ(watch.stage().all, 12);
  }
  EXPECT_EQ(std::string(watch.stage().of), "layouts");
  EXPECT_EQ(watch.stage().done, 0) << "those before were of the sizes";
  EXPECT_EQ(watch.stage().all, 0);
}

TEST(SearchWatch, BeginsNothingOnceItIsStopped) {
  SearchWatch watch;
  WatchedItems sizes(&watch, "sizes", 12);
  EXPECT_TRUE(sizes.next());
  EXPECT_FALSE(stopped(&watch));
  watch.stop = true;
  EXPECT_TRUE(stopped(&watch));
  EXPECT_FALSE(sizes.next());
  EXPECT_EQ(watch.stage().done, 1);
}

TEST(SearchWatch, NobodyNeedsToWatch) {
  WatchedItems sizes(nullptr, "sizes", 1);
  EXPECT_TRUE(sizes.next());
  EXPECT_FALSE(stopped(nullptr));
}

}  // namespace
}  // namespace shardplan
