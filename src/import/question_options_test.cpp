#include "import/question_options.h"

#include <gtest/gtest.h>

#include "import/test_catalog.h"

namespace shardplan {
namespace {

using Told = std::vector<std::pair<std::string, std::string>>;

Result<Question> read(const Told& told, Purpose purpose) {
  QuestionSpec spec;
  spec.purpose = purpose;
  spec.model = "llama3-8b";
  for (const auto& [flag, text] : told) {
    for (const QuestionFlag& f : question_flags()) {
      if (flag == f.flag) spec.*f.text = text;
    }
  }
  return build_question(spec, test_catalog());
}

Question question(const Told& told, Purpose purpose = Purpose::kPlan) {
  const Result<Question> q = read(told, purpose);
  EXPECT_TRUE(q) << (q ? "" : q.error().message);
  return q ? *q : Question{};
}

Error error_of(const Told& told, Purpose purpose = Purpose::kPlan) {
  const Result<Question> q = read(told, purpose);
  return q ? Error{"none", "", "", "", ""} : q.error();
}

std::string code_at(const Told& told, Purpose purpose = Purpose::kPlan) {
  const Error e = error_of(told, purpose);
  return e.where + " " + e.code;
}

TEST(QuestionOptions, Adapters) {
  const Question q = question({{"--lora", "16:q_proj,V-Proj"}, {"--quantized-base", "NF4"}});
  EXPECT_EQ(q.workload.adapters.rank, 16);
  EXPECT_EQ(adapter_target_names(q.workload.adapters.targets), "q_proj,v_proj");
  ASSERT_TRUE(q.workload.adapters.base);
  EXPECT_EQ(q.workload.adapters.base->name, "nf4");
  EXPECT_EQ(question({{"--lora", "4"}}).workload.adapters.targets, targets::kAll);
  EXPECT_EQ(question({{"--lora", "4"}}, Purpose::kMemory).activations, ActivationModel::kOps);
  EXPECT_EQ(code_at({{"--lora", "0"}}), "--lora out_of_range");
  EXPECT_EQ(code_at({{"--lora", "16:"}}), "--lora unknown_name");
  EXPECT_EQ(error_of({{"--lora", "16:q_prj"}}).nearest, "q_proj");
  EXPECT_EQ(code_at({{"--quantized-base", "nf4"}}), "--quantized-base conflict");
  EXPECT_EQ(code_at({{"--lora", "4"}, {"--quantized-base", "nf5"}}), "--quantized-base unknown_name");
  EXPECT_EQ(code_at({{"--lora", "4"}, {"--activations", "paper"}}, Purpose::kMemory),
            "--activations conflict");
}

TEST(QuestionOptions, OffloadAndShardGroup) {
  EXPECT_EQ(code_at({{"--offload", "optimiser"}}), "--offload unknown_name");
  EXPECT_EQ(question({{"--offload", "none"}}).fixed.offload, 0);
  const Error twice = error_of({{"--offload", "activations,optimizer,activations"}});
  EXPECT_EQ(twice.where + " " + twice.code, "--offload conflict");
  EXPECT_EQ(twice.message, "activations is named twice");
  // No device of this catalog has a link to its host.
  EXPECT_EQ(code_at({{"--offload", "activations"}}), "--offload unsupported");
  EXPECT_EQ(question({{"--shard-group", "8"}}).fixed.shard_group, 8);
  EXPECT_EQ(code_at({{"--shard-group", "1"}}), "--shard-group out_of_range");
}

TEST(QuestionOptions, HostMemory) {
  EXPECT_FALSE(question({}).cluster.host_memory) << "no catalog has one";
  const auto host = question({{"--host-memory", "2048"}}).cluster.host_memory;
  ASSERT_TRUE(host);
  EXPECT_EQ(host->value, gibibytes(2048));
  EXPECT_EQ(host->source.kind, SourceKind::kUser);
  EXPECT_EQ(question({{"--host-memory", "2TB"}}).cluster.host_memory->value, gigabytes(2000));
  EXPECT_EQ(code_at({{"--host-memory", "0"}}), "--host-memory out_of_range");
}

TEST(QuestionOptions, ActivationsByTheAccountThatGoesWithTheFramework) {
  EXPECT_EQ(question({}, Purpose::kMemory).activations, ActivationModel::kPaper);
  EXPECT_EQ(question({}, Purpose::kPlan).activations, ActivationModel::kOps);
  EXPECT_EQ(question({{"--framework", "nanotron"}}, Purpose::kMemory).activations, ActivationModel::kOps);
  const Question told = question({{"--framework", "nanotron"}, {"--activations", "paper"}}, Purpose::kMemory);
  EXPECT_EQ(told.activations, ActivationModel::kPaper);
}

TEST(QuestionOptions, ExpertLoadNeedsExperts) {
  EXPECT_EQ(code_at({{"--expert-imbalance", "1.5"}}), "--expert-imbalance unsupported");
  EXPECT_EQ(code_at({{"--capacity-factor", "0.5"}}), "--capacity-factor out_of_range");
  EXPECT_EQ(code_at({{"--capacity-factor", "1.2"}, {"--expert-imbalance", "1.5"}}),
            "--capacity-factor conflict");
}

TEST(QuestionOptions, OverlapOfTensorParallelism) {
  EXPECT_EQ(question({{"--tp-overlap", "off"}}).workload.kernels.tensor_overlap, TensorOverlap::kOff);
  EXPECT_EQ(error_of({{"--tp-overlap", "asink"}}).nearest, "async");
  // Of the generic framework no run was measured, with or without.
  EXPECT_EQ(error_of({{"--tp-overlap", "async"}}).code, "unsupported");
}

}  // namespace
}  // namespace shardplan
