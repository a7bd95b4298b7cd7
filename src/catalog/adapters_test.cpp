#include "catalog/adapters.h"

#include <gtest/gtest.h>

namespace shardplan {
namespace {

TEST(AdapterTargets, NamesReadBack) {
  for (const char* text : {"q_proj", "q_proj,v_proj", "gate_proj,up_proj,down_proj", "all-linear"}) {
    const auto read = adapter_targets_named(text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(adapter_target_names(*read), text);
  }
}

TEST(AdapterTargets, GroupsAndSpellings) {
  EXPECT_EQ(adapter_targets_named("attention"), adapter_targets_named("q-proj,k-proj,v_proj,o_proj"));
  EXPECT_EQ(adapter_targets_named("attention,mlp"), adapter_targets_named("all-linear"));
  EXPECT_FALSE(adapter_targets_named("q_proj,"));
  EXPECT_FALSE(adapter_targets_named("head"));
}

}  // namespace
}  // namespace shardplan
