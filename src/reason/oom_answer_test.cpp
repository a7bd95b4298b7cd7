#include "reason/oom_answer.h"

#include <gtest/gtest.h>

#include "estimate/test_questions.h"

namespace shardplan {
namespace {

Question gpt2_774m() {
  Question q =
      gpt_question({.parameters = 0.774e9, .layers = 36, .hidden = 1280, .heads = 20, .sequence = 1024});
  q.model.vocab = 50304;
  return q;
}

Plan four_sequences() {
  Plan p;
  p.micro_batch = 4;
  return p;
}

OutOfMemory asked(Bytes<> requested) {
  OutOfMemory oom;
  oom.requested = requested;
  oom.free = mebibytes(1);
  return oom;
}

TEST(Oom, BlocksOfTheCachingAllocator) {
  EXPECT_EQ(device_block(kibibytes(3)), mebibytes(2));
  EXPECT_EQ(device_block(mebibytes(1)), mebibytes(2));
  EXPECT_EQ(device_block(mebibytes(1.5)), mebibytes(20));
  EXPECT_EQ(device_block(mebibytes(10)), mebibytes(10));
  EXPECT_EQ(device_block(mebibytes(10.1)), mebibytes(12));
  EXPECT_EQ(device_block(mebibytes(786)), mebibytes(786));
  EXPECT_EQ(shared_by_tensors_up_to(mebibytes(20)), mebibytes(10));
  EXPECT_FALSE(shared_by_tensors_up_to(mebibytes(22)));
}

TEST(Oom, PrintedSizeHasTwoDecimals) {
  // 4 x 1024 x 50257 fp32 logits of GPT-2: 785.27 MiB, asked for as 786.
  EXPECT_TRUE(has_printed_size(bytes(4.0 * 1024 * 50257 * 4), mebibytes(786)));
  EXPECT_FALSE(has_printed_size(mebibytes(787), mebibytes(786)));
  EXPECT_TRUE(has_printed_size(mebibytes(2560), gibibytes(2.5)));
  EXPECT_TRUE(has_printed_size(mebibytes(2564), gibibytes(2.5)));   // 2.504 GiB
  EXPECT_FALSE(has_printed_size(mebibytes(2568), gibibytes(2.5)));  // 2.508 GiB
  EXPECT_TRUE(has_printed_size(mebibytes(12.5), mebibytes(12.5)));
}

TEST(Oom, NamesTheLogits) {
  const Question q = gpt2_774m();
  const Estimator estimator(q);
  const OomAnswer a = oom_answer(asked(mebibytes(786)), estimator, four_sequences());
  ASSERT_TRUE(a.run);
  ASSERT_EQ(a.run->matches.size(), 1U);
  EXPECT_EQ(a.run->matches[0].tensor.name, "logits in fp32");
  EXPECT_EQ(a.run->matches[0].stages, std::vector<int>{0});
  EXPECT_TRUE(a.solved());
}

TEST(Oom, SaysWhatIsNearestWhereNothingMatches) {
  const Question q = gpt2_774m();
  const Estimator estimator(q);
  const OomAnswer a = oom_answer(asked(mebibytes(792)), estimator, four_sequences());
  EXPECT_TRUE(a.run->matches.empty());
  ASSERT_FALSE(a.run->nearest.empty());
  EXPECT_EQ(a.run->nearest[0].tensor.name, "logits in fp32");
}

TEST(Oom, FragmentationNeedsNoOtherPlan) {
  const Question q = gpt2_774m();
  const Estimator estimator(q);
  OutOfMemory oom = asked(mebibytes(786));
  oom.unallocated = gibibytes(2);
  const OomAnswer a = oom_answer(oom, estimator, four_sequences());
  EXPECT_TRUE(a.message.fragmentation());
  EXPECT_TRUE(a.run->remedies.empty());
  EXPECT_TRUE(a.solved());
}

TEST(Oom, NothingFreesMoreThanThereIs) {
  const Question q = gpt2_774m();
  const Estimator estimator(q);
  const OomAnswer a = oom_answer(asked(gibibytes(500)), estimator, four_sequences());
  EXPECT_TRUE(a.run->remedies.empty());
  EXPECT_FALSE(a.solved());
}

TEST(Oom, MessageAloneIsAnAnswer) { EXPECT_TRUE(oom_answer(asked(mebibytes(786))).solved()); }

}  // namespace
}  // namespace shardplan
