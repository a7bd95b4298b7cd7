#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/catalog.h"
#include "import/test_catalog.h"
#include "validate/memory_run.h"

namespace shardplan {
namespace {

using testing::HasSubstr;

constexpr const char* kColumns =
    "id,source_key,framework,model,layers,hidden,heads,kv_heads,ffn,glu,vocab,seq_len,gpu,gpus,tp,pp,cp,sharding,"
    "mbs,gbs,recompute,precision,peak_mem_gb,mem_counter,mem_rank,status,framework_args\n";

Result<MemoryRun> read(const std::string& cells) {
  const auto table = read_csv(kColumns + cells + "\n", "runs.csv");
  EXPECT_TRUE(table);
  return read_memory_run({*table, 0}, catalog());
}

std::string gpt(const std::string& gpus, const std::string& counter, const std::string& arguments) {
  return "r1,golden,Megatron-Core CI,gpt,12,512,8,8,2048,0,,1024,H100-SXM-80GB," + gpus +
         ",1,2,1,ddp,4,32,none,bf16,2.5," + counter + ",last,ok," + arguments;
}

TEST(MemoryRun, ReadsAMegatronCommandLine) {
  const auto run =
      read(gpt("8", "allocated", "--attention-backend=unfused --no-gradient-accumulation-fusion"));
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->run.plan.dp, 4);
  EXPECT_EQ(run->run.plan.grad_accumulation, 2);
  EXPECT_EQ(run->rank, MemoryRun::Rank::kLast);
  EXPECT_EQ(run->measured, gibibytes(2.5));
  EXPECT_FALSE(run->run.question.workload.kernels.fused_attention);
  EXPECT_TRUE(run->run.question.workload.kernels.hidden_dropout) << "the parser's default is 0.1";
  EXPECT_FALSE(run->run.question.workload.kernels.fused_weight_gradient);
  EXPECT_TRUE(run->run.question.model.tied_embeddings);
  EXPECT_THAT(run->run.assumed, testing::Contains(HasSubstr("50,257")));
}

TEST(MemoryRun, ReadsRecipesOfLowPrecision) {
  const auto copies = [](const std::string& precision, const std::string& arguments) {
    std::string cells = gpt("8", "allocated", arguments);
    const std::size_t at = cells.find("bf16");
    const auto run = read(cells.replace(at, 4, precision));
    EXPECT_TRUE(run) << (run ? "" : run.error().message);
    if (!run) return bytes(0);
    const Question& q = run->run.question;
    return q.framework.buffers.quantized[static_cast<std::size_t>(q.workload.recipe)].weight_copies.value;
  };
  EXPECT_EQ(copies("bf16", ""), bytes(0));
  EXPECT_EQ(copies("bf16 + fp8 hybrid delayed", "--fp8-format=hybrid"), bytes(2));
  EXPECT_EQ(copies("bf16 + fp8 e4m3 mxfp8", "--fp8-format=e4m3"), bytes(2.0625));
  EXPECT_EQ(copies("bf16 + fp8 e4m3 mxfp8", "--fp8-param-gather"), bytes(0.0625))
      << "only the scales beside the 16 bits of the weights";
  EXPECT_EQ(copies("nvfp4", "--fp8-param-gather"), bytes(1.125)) << "that gathers fp8 alone";
}

TEST(MemoryRun, ReadsHowThePipelineIsCut) {
  const auto plan = [](const std::string& arguments) {
    const auto run = read(gpt("8", "allocated", arguments));
    EXPECT_TRUE(run) << (run ? "" : run.error().message);
    return run ? run->run.plan : Plan{};
  };
  const Plan ends = plan("--decoder-first-pipeline-num-layers=5");
  EXPECT_EQ(ends.first_layers, 5);
  EXPECT_EQ(ends.last_layers, Plan::kEven);
  EXPECT_EQ(
      plan("--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split").last_layers, 6);
  const Plan layout = plan("--pipeline-model-parallel-layout=Et*4|(tt|)*2t*4L");
  EXPECT_EQ(layout.interleave, 2);
  EXPECT_EQ(layout.schedule, Schedule::kInterleaved);
  EXPECT_EQ(layout.first_layers, 4);
  EXPECT_EQ(plan("--pipeline-model-parallel-layout=Et*4|(tt|)*2t*4L "
                 "--microbatch-group-size-per-virtual-pipeline-stage=3")
                .micro_batch_group,
            3);
}

TEST(MemoryRun, ReadsPredictionLayersAndGradientsThatWait) {
  const auto run = read(gpt("8", "allocated", "--mtp-num-layers=1 --defer-embedding-wgrad-compute"));
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->run.question.workload.mtp_layers, 1);
  EXPECT_EQ(run->run.question.workload.kernels.deferred_head_gradients, 2) << "no limit: all of the step's";
}

TEST(MemoryRun, ReadsWhatIsRecomputed) {
  const auto taken = [](const std::string& text) {
    std::string cells = gpt("8", "allocated", "--bf16");
    const std::string none = ",none,";
    const auto run = read(cells.replace(cells.find(none), none.size(), "," + text + ","));
    return run ? name(run->run.plan.recompute) : run.error().message;
  };
  EXPECT_EQ(taken("full"), "full");
  EXPECT_EQ(taken("full uniform 1 layers"), "full");
  EXPECT_EQ(taken("full uniform 2 layers"), "uniform:2");
  EXPECT_EQ(taken("full block 4 layers"), "full:4");
  EXPECT_EQ(taken("selective (core attention)"), "selective");
  EXPECT_EQ(taken("selective modules [layernorm mlp]"), "layernorm,mlp");
  EXPECT_THAT(taken("selective modules [all]"), HasSubstr("is not modelled yet"));
  EXPECT_THAT(taken("full + offload"), HasSubstr("is not modelled yet"));
}

TEST(MemoryRun, WhatItCannotExpressIsSkippedWithItsReason) {
  const auto reason = [](const std::string& cells) {
    const auto run = read(cells);
    return run ? std::string("read") : run.error().message;
  };
  EXPECT_EQ(reason(gpt("", "allocated", "--bf16")), "the GPU count is blank");
  EXPECT_THAT(reason(gpt("8", "job_total", "--bf16")), HasSubstr("which bytes were counted"));
  EXPECT_THAT(reason(gpt("8", "allocated", "--mtp-use-repeated-layer")),
              HasSubstr("--mtp-use-repeated-layer is not modelled"));
  EXPECT_THAT(reason(gpt("8", "allocated", "--pipeline-model-parallel-layout=Et*12|(t|L")),
              HasSubstr("not understood"));
  EXPECT_THAT(reason(gpt("8", "allocated", "--pipeline-model-parallel-layout=Et*6|t*5L")),
              HasSubstr("not as many layers"));
  EXPECT_THAT(reason(gpt("8", "allocated", "--pipeline-model-parallel-layout=Et*3|t|t*5|t*3L")),
              HasSubstr("that differ"));
  EXPECT_THAT(reason(gpt("7", "allocated", "--bf16")), HasSubstr("does not divide"));
  EXPECT_THAT(reason(gpt("8x", "allocated", "--bf16")), HasSubstr("not a positive whole number"));
  EXPECT_THAT(reason(gpt("8", "allocated", "--tokenizer-type=Other")), HasSubstr("vocabulary of Other"));
}

}  // namespace
}  // namespace shardplan
