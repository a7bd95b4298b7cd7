#include "estimate/decode.h"

#include <gtest/gtest.h>

#include "import/flag_list.h"

namespace shardplan {
namespace {

Question question() {
  const FlagList flags{
      {"--params", "175"}, {"--layers", "96"}, {"--hidden", "12288"}, {"--heads", "96"}, {"--gpus", "64"}};
  return question_from_flags(Purpose::kMemory, flags, catalog()).value();
}

TEST(Decode, OneNodeServesThe175BInTime) {
  const Question q = question();
  const DecodeCost<> c = decode_cost<double>(q, {8, 8, 2048});
  EXPECT_NEAR(c.weights.raw() / 1073741824.0, 325.96, 0.005);
  EXPECT_NEAR(c.weight_read.raw(), 43.75e9 / 5.3e12, 1e-9);
  EXPECT_EQ(c.all_reduces.raw(), 192);
  EXPECT_EQ(c.message.raw(), 196608);
  EXPECT_NEAR(c.all_reduce.cost.total().raw(), 71.147e-6, 1e-9);
  EXPECT_NEAR(c.communication().raw(), 13.66e-3, 1e-5);
  EXPECT_NEAR(c.kv_read.raw(), 8 * 2048 * 4718592.0 / 8 / 5.3e12, 1e-9);
  EXPECT_LT(c.step().raw(), 0.025);
  EXPECT_NEAR(c.throughput.raw(), 8 / c.step().raw(), 1e-9);
  EXPECT_NEAR(c.prefill_compute.raw(), 0.224, 1e-9);
}

TEST(Decode, OneGpuCommunicatesNothing) {
  const DecodeCost<> c = decode_cost<double>(question(), {1, 1, 1});
  EXPECT_EQ(c.communication().raw(), 0);
  EXPECT_EQ(c.weights_gpu.raw(), c.weights.raw());
}

TEST(Decode, MoreBandwidthAndShorterContextsAreNeverSlower) {
  Question q = question();
  const DecodeCost now = decode_cost<double>(q, {8, 8, 2048});
  EXPECT_LT(decode_cost<double>(q, {8, 8, 1024}).step().raw(), now.step().raw());
  EXPECT_LT(decode_cost<double>(q, {8, 4, 2048}).step().raw(), now.step().raw());
  q.cluster.device.memory_bandwidth.value = terabytes_per_s(8);
  EXPECT_LT(decode_cost<double>(q, {8, 8, 2048}).step().raw(), now.step().raw());
}

TEST(Decode, GroupedQueriesKeepAShareOfTheCache) {
  const FlagList flags{{"--preset", "llama3-8b"}, {"--gpus", "8"}};
  const Question q = question_from_flags(Purpose::kMemory, flags, catalog()).value();
  // 32 layers x 2 x 8 heads x 128 x 2 bytes = 128 KiB.
  EXPECT_EQ(decode_cost<double>(q, {8, 1, 1}).kv_token.raw(), 131072);
}

TEST(Decode, RanksBeyondTheKeyValueHeadsKeepCopies) {
  const FlagList flags{{"--preset", "llama3-8b"}, {"--gpus", "16"}};
  const Question q = question_from_flags(Purpose::kMemory, flags, catalog()).value();
  const DecodeCost<> eight = decode_cost<double>(q, {8, 4, 1024}),
                     twice = decode_cost<double>(q, {16, 4, 1024});
  // 8 heads: a rank of 16 still reads one whole head, and the pair holds it twice.
  EXPECT_EQ(twice.kv_gpu.raw(), eight.kv_gpu.raw());
  EXPECT_EQ(twice.kv_token.raw(), 2 * eight.kv_token.raw());
  EXPECT_EQ(twice.kv_read.raw(), eight.kv_read.raw());
}

TEST(Decode, TracedIsTheSameArithmetic) {
  const Question q = question();
  const DecodeCost<> c = decode_cost<double>(q, {16, 8, 2048});
  const DecodeCost<Traced> t = decode_cost<Traced>(q, {16, 8, 2048});
  EXPECT_EQ(c.step().raw(), value_of(t.step()));
  EXPECT_EQ(c.prefill().raw(), value_of(t.prefill()));
  EXPECT_EQ(c.memory().raw(), value_of(t.memory()));
  EXPECT_EQ(c.concurrency.raw(), value_of(t.concurrency));
}

TEST(Decode, TheLongerOfReadingAndArithmeticIsFelt) {
  const DecodeCost<> small = decode_cost<double>(question(), {8, 8, 16});
  EXPECT_EQ(small.products(), small.weight_read);
  const DecodeCost<> large = decode_cost<double>(question(), {8, 512, 16});
  EXPECT_EQ(large.products(), large.compute);
}

}  // namespace
}  // namespace shardplan
