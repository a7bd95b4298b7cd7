#include "import/question.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "import/defaults.h"
#include "import/flag_reader.h"
#include "import/test_catalog.h"

namespace shardplan {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using Spec = QuestionSpec;
using Told = std::vector<std::pair<std::string, std::string>>;

/// A question of the 8B model with these flags, by their spelling on the command line.
Spec typed(const Told& told, Purpose purpose = Purpose::kPlan, bool with_model = true) {
  Spec spec;
  spec.purpose = purpose;
  if (with_model) spec.model = "llama3-8b";
  for (const auto& [flag, text] : told) {
    bool found = false;
    for (const QuestionFlag& f : question_flags()) {
      if (flag != f.flag) continue;
      spec.*f.text = text;
      found = true;
    }
    EXPECT_TRUE(found) << flag;
  }
  return spec;
}

Question question(const Told& told, Purpose purpose = Purpose::kPlan, bool with_model = true) {
  const Result<Question> q = build_question(typed(told, purpose, with_model), test_catalog());
  if (q) return *q;
  ADD_FAILURE() << q.error().where << ": " << q.error().message;
  return {};
}

Error error_of(const Told& told, Purpose purpose = Purpose::kPlan, bool with_model = true) {
  const Result<Question> q = build_question(typed(told, purpose, with_model), test_catalog());
  if (q) return {"none", "", "", "", ""};
  EXPECT_FALSE(q.error().message.empty());
  EXPECT_EQ(q.error().message.find('\n'), std::string::npos);
  EXPECT_FALSE(q.error().expected.empty()) << q.error().message;
  return q.error();
}

std::string code_at(const Told& told, Purpose purpose = Purpose::kPlan, bool with_model = true) {
  const Error e = error_of(told, purpose, with_model);
  return e.where + " " + e.code;
}

const Told kByHand{{"--params", "65"}, {"--layers", "80"}, {"--hidden", "8192"}, {"--heads", "64"}};

/// The shape by hand with one flag more, or told otherwise.
Told by_hand(const std::string& flag, const std::string& text) {
  Told told;
  for (const auto& pair : kByHand) {
    if (pair.first != flag) told.push_back(pair);
  }
  if (!text.empty()) told.emplace_back(flag, text);
  return told;
}

// The flags themselves
// ---------------------------------------------------------------------------------------

TEST(QuestionFlags, EachFlagHasOneFieldAndHelp) {
  std::vector<std::string> names;
  for (const QuestionFlag& f : question_flags()) {
    names.push_back(f.flag);
    EXPECT_EQ(flag_name(f.text), std::string(f.flag)) << "one field, one flag";
    EXPECT_NE(std::string(f.help), "");
  }
  for (const char* contract : {"--model",
                               "--preset",
                               "--params",
                               "--layers",
                               "--hidden",
                               "--heads",
                               "--kv-heads",
                               "--ffn",
                               "--vocab",
                               "--head-dim",
                               "--cluster",
                               "--gpu",
                               "--gpus",
                               "--gpus-per-node",
                               "--hbm",
                               "--peak-tflops",
                               "--bw-intra",
                               "--bw-inter",
                               "--latency-intra",
                               "--latency-inter",
                               "--reserve",
                               "--seq",
                               "--micro-batch",
                               "--global-batch",
                               "--precision",
                               "--optimizer",
                               "--recompute",
                               "--framework",
                               "--dp",
                               "--tp",
                               "--pp",
                               "--cp",
                               "--ep",
                               "--etp",
                               "--zero",
                               "--interleave",
                               "--schedule",
                               "--sp"}) {
    EXPECT_THAT(names, Contains(contract));
  }
}

TEST(QuestionFlags, WhatIsNotAPositiveNumberInRangeIsRefused) {
  for (const char* flag : {"--gpus", "--gpus-per-node", "--seq", "--tp", "--dp", "--pp", "--cp", "--ep",
                           "--etp", "--micro-batch", "--interleave", "--global-batch"}) {
    for (const char* text : {"0", "-1", "1.5", "nan", "inf", "1e30", "", "eight", "8x", "0x10", "--8"}) {
      const Error e = error_of({{flag, text}});
      EXPECT_EQ(e.where, flag) << text;
      EXPECT_THAT(e.code, ::testing::AnyOf("bad_value", "out_of_range")) << flag << " " << text;
    }
  }
  for (const char* flag : {"--hbm", "--hbm-bw", "--peak-tflops", "--bw-intra", "--bw-inter"}) {
    for (const char* text : {"0", "-1", "nan", "inf", "1e30", "", "80 cows", "80us"}) {
      EXPECT_EQ(error_of({{flag, text}, {"--gpus", "16"}}).where, flag) << text;
    }
  }
  for (const char* flag : {"--latency-intra", "--latency-inter", "--reserve"}) {
    for (const char* text : {"-1", "nan", "1e30", "", "5 GB/s"}) {
      EXPECT_EQ(error_of({{flag, text}, {"--gpus", "16"}}).where, flag) << text;
    }
  }
  for (const char* flag :
       {"--params", "--layers", "--hidden", "--heads", "--kv-heads", "--ffn", "--vocab", "--head-dim"}) {
    for (const char* text : {"0", "-1", "nan", "1e30", " ", "many"}) {
      EXPECT_EQ(error_of(by_hand(flag, text), Purpose::kPlan, false).where, flag) << text;
    }
  }
}

// The model
// --------------------------------------------------------------------------------------------------

TEST(QuestionModel, ByNameAliasAndPreset) {
  EXPECT_EQ(question({}).model.name, "llama3-8b");
  EXPECT_EQ(question({{"--model", "meta-llama/Llama-3.1-8B"}}).model.name, "llama3-8b");
  EXPECT_EQ(question({{"--model", "LLAMA3_8B"}}).model.name, "llama3-8b");
  EXPECT_EQ(question({{"--preset", "llama3-8b"}}, Purpose::kPlan, false).model.name, "llama3-8b");
  const Error e = error_of({{"--model", "llama3-8c"}});
  EXPECT_EQ(e.code, "unknown_name");
  EXPECT_EQ(e.where, "--model");
  EXPECT_EQ(e.nearest, "llama3-8b");
  EXPECT_EQ(error_of({{"--preset", "llama3-9b"}}, Purpose::kPlan, false).where, "--preset");
  EXPECT_EQ(code_at({{"--preset", "llama3-8b"}}), "--preset conflict");
  EXPECT_EQ(code_at({{"--params", "8"}}), "--params conflict");
  EXPECT_EQ(code_at({{"--vocab", "8"}}), "--vocab conflict");
  EXPECT_EQ(code_at({}, Purpose::kPlan, false), "--model missing_flag");
}

class ModelFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              (std::string("shardplan_") +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());  // tests run side by side
    std::filesystem::create_directories(folder_ / "empty");
    std::ofstream(folder_ / "config.json") << test_catalog().models[0].config;
    std::ofstream(folder_ / "broken.json") << "{\"hidden_size\": ";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }
  std::filesystem::path folder_;
};

TEST_F(ModelFiles, FileAndFolder) {
  EXPECT_EQ(question({{"--model", path("config.json")}}).model.hidden, 4096);
  const Question q = question({{"--model", folder_.string()}});
  EXPECT_EQ(q.model.hidden, 4096);
  EXPECT_NE(q.model.name, "");
  EXPECT_EQ(code_at({{"--model", path("empty")}}), "--model not_found");
  EXPECT_EQ(code_at({{"--model", path("absent.json")}}), "--model not_found");
  EXPECT_EQ(code_at({{"--model", "./absent"}}), "--model not_found");
  EXPECT_THAT(error_of({{"--model", path("broken.json")}}).where, HasSubstr("broken.json"));
}

TEST_F(ModelFiles, AFolderThatIsNoModelDoesNotHideACatalogName) {
  const auto before = std::filesystem::current_path();
  std::filesystem::create_directories(folder_ / "llama3-8b");
  std::filesystem::current_path(folder_);
  EXPECT_EQ(question({}).model.name, "llama3-8b");
  std::filesystem::copy_file("config.json", "llama3-8b/config.json");
  EXPECT_THAT(question({}).notes, Contains(HasSubstr("not from the catalog")));
  std::filesystem::current_path(before);
}

TEST(QuestionModel, ByHandListsWhatItTakes) {
  const Question q = question(kByHand, Purpose::kPlan, false);
  EXPECT_EQ(q.model.architecture, "by_hand");
  EXPECT_EQ(q.model.declared_parameters, 65e9);
  EXPECT_EQ(q.model.layers.size(), 80U);
  EXPECT_FALSE(q.model.has_embeddings);
  const auto& attention = std::get<Attention>(q.model.layers[0].mixer);
  EXPECT_EQ(attention.heads, 64);
  EXPECT_EQ(attention.kv_heads, 64);
  EXPECT_EQ(attention.head_dim, 128);
  const auto& mlp = std::get<DenseMlp>(q.model.layers[0].mlp);
  EXPECT_EQ(mlp.width, 4 * 8192);
  EXPECT_FALSE(mlp.gated);
  for (const char* said :
       {"key-value heads", "heads of dimension 128", "two matrices", "logits are left out"}) {
    EXPECT_THAT(q.assumed, Contains(HasSubstr(said)));
  }
  EXPECT_TRUE(q.notes.empty()) << q.notes[0];
}

TEST(QuestionModel, ByHandInFull) {
  Told told = kByHand;
  told.insert(told.end(),
              {{"--kv-heads", "8"}, {"--ffn", "28672"}, {"--vocab", "128256"}, {"--head-dim", "160"}});
  const Question q = question(told, Purpose::kPlan, false);
  const auto& attention = std::get<Attention>(q.model.layers[0].mixer);
  EXPECT_EQ(attention.kv_heads, 8);
  EXPECT_EQ(attention.head_dim, 160);
  EXPECT_TRUE(std::get<DenseMlp>(q.model.layers[0].mlp).gated);
  EXPECT_EQ(q.model.vocab, 128256);
  EXPECT_TRUE(q.model.has_embeddings);
  EXPECT_THAT(q.assumed, Not(Contains(HasSubstr("logits"))));
}

TEST(QuestionModel, ByHandSuffixesAndSlips) {
  EXPECT_EQ(question(by_hand("--params", "1.5T"), Purpose::kPlan, false).model.declared_parameters, 1.5e12);
  EXPECT_EQ(question(by_hand("--params", "65B"), Purpose::kPlan, false).model.declared_parameters, 65e9);
  EXPECT_EQ(code_at(by_hand("--params", "65e9"), Purpose::kPlan, false), "--params out_of_range");
  for (const auto& [flag, text] : kByHand) {
    EXPECT_EQ(code_at(by_hand(flag, ""), Purpose::kPlan, false), flag + " missing_flag");
  }
  EXPECT_EQ(code_at(by_hand("--heads", "60"), Purpose::kPlan, false), "--heads not_divisible");
  EXPECT_EQ(code_at(by_hand("--kv-heads", "7"), Purpose::kPlan, false), "--kv-heads not_divisible");
  EXPECT_THAT(question(by_hand("--params", "650"), Purpose::kPlan, false).notes,
              Contains(HasSubstr("the shape counts to 64")));
}

// The cluster
// ------------------------------------------------------------------------------------------------

TEST(QuestionCluster, NothingToldIsTheCourseCluster) {
  const Question q = question({});
  EXPECT_EQ(q.cluster.gpus, 64);
  EXPECT_EQ(q.cluster.device.memory_reported.value, gibibytes(192));
  EXPECT_EQ(q.cluster.tiers.size(), 2U);
  EXPECT_EQ(q.cluster.tiers[0].size, 8);
  EXPECT_EQ(q.cluster.tiers[1].bandwidth.value, gigabytes_per_s(50));
  EXPECT_DOUBLE_EQ(q.cluster.tiers[1].latency.value.raw(), 15e-6);
  EXPECT_THAT(q.assumed, Contains(HasSubstr("course cluster")));
  EXPECT_EQ(question({{"--gpus", "512"}}).cluster.tiers[1].size, 512);
}

TEST(QuestionCluster, GpuBringsItsUsualNodeAndFabric) {
  const Question q = question({{"--gpu", "H100"}, {"--gpus", "64"}});
  EXPECT_EQ(q.cluster.device.name, "h100-sxm");
  ASSERT_EQ(q.cluster.tiers.size(), 2U);
  EXPECT_EQ(q.cluster.tiers[0].size, 8);
  EXPECT_EQ(q.cluster.tiers[0].bandwidth.value, gigabytes_per_s(360)) << "achieved, not sold";
  EXPECT_EQ(q.cluster.tiers[1].size, 64);
  EXPECT_EQ(q.cluster.tiers[1].bandwidth.value, gigabytes_per_s(40)) << "line rate x efficiency";
  EXPECT_THAT(q.cluster.tiers[1].bandwidth.label(), HasSubstr("Sheet x Fit"));
  EXPECT_THAT(q.assumed, Contains("h100-sxm: its usual node of 8 and fabric ib-ndr-400"));
  EXPECT_THAT(q.assumed, Not(Contains(HasSubstr("--gpus not told"))));
  EXPECT_EQ(question({{"--gpu", "h100"}, {"--gpus", "8"}}).cluster.tiers.size(), 1U);
  EXPECT_THAT(question({{"--gpu", "h100"}, {"--gpus", "12"}}).assumed, Contains(HasSubstr("partly used")));
}

TEST(QuestionCluster, NodeSizesAndScaleUpDomains) {
  const Question rack = question({{"--gpu", "gb200"}, {"--gpus", "144"}});
  EXPECT_EQ(rack.cluster.tiers[0].size, 72);
  EXPECT_THAT(rack.assumed, Contains(HasSubstr("domain of 72")));
  EXPECT_EQ(question({{"--gpu", "gb200"}, {"--gpus", "72"}}).cluster.tiers.size(), 1U);
  EXPECT_EQ(question({{"--gpu", "gb200"}, {"--gpus", "144"}, {"--gpus-per-node", "4"}}).cluster.tiers[0].size,
            72)
      << "boards of four share the rack's link";
  EXPECT_EQ(question({{"--gpu", "h100"}, {"--gpus", "16"}, {"--gpus-per-node", "4"}}).cluster.tiers[0].size,
            4);
  EXPECT_EQ(question({{"--gpus", "16"}, {"--gpus-per-node", "4"}}).cluster.tiers[0].size, 4);
  EXPECT_EQ(code_at({{"--gpu", "lonely"}, {"--gpus", "2"}}), "--gpus missing_flag");
}

TEST(QuestionCluster, HowManyGpusWhenNotTold) {
  EXPECT_EQ(question({{"--gpu", "h100"}}).cluster.gpus, 8);
  EXPECT_THAT(question({{"--gpu", "h100"}}).assumed, Contains("--gpus not told: 8, one node"));
  EXPECT_EQ(question({{"--gpu", "h100"}, {"--tp", "8"}, {"--pp", "4"}}).cluster.gpus, 32);
  EXPECT_EQ(question({{"--tp", "3"}}).cluster.gpus, 3) << "64 cannot be cut by 3";
  EXPECT_EQ(question({}, Purpose::kMemory).cluster.gpus, 1);
  EXPECT_EQ(question({{"--gpu", "h100"}}, Purpose::kMemory).cluster.gpus, 1);
  EXPECT_THAT(question({{"--gpu", "h100"}}, Purpose::kMemory).assumed, Contains("--gpus not told: 1"));
  EXPECT_EQ(question({{"--tp", "8"}, {"--pp", "2"}}, Purpose::kMemory).cluster.gpus, 16);
  EXPECT_EQ(question({{"--cluster", "course-64"}}, Purpose::kMemory).cluster.gpus, 64)
      << "the cluster tells it";
}

TEST(QuestionCluster, ByNameOrFile) {
  const Question q = question({{"--cluster", "pods"}});
  EXPECT_EQ(q.cluster.gpus, 1024);
  ASSERT_EQ(q.cluster.tiers.size(), 3U);
  EXPECT_EQ(q.cluster.tiers[2].oversubscription.value, ratio(4));
  EXPECT_EQ(question({{"--cluster", "three tier"}, {"--gpus", "64"}}).cluster.tiers.size(), 2U);
  EXPECT_EQ(question({{"--cluster", "course-64"}, {"--gpus", "128"}}).cluster.tiers[1].size, 128);
  EXPECT_EQ(code_at({{"--cluster", "pods"}, {"--gpus", "4096"}}), "--gpus out_of_range");
  const std::string example = std::string(SHARDPLAN_SOURCE_DIR) + "/examples/cluster-3-tier.json";
  EXPECT_EQ(question({{"--cluster", example}}).cluster.name, "rail-pods");
  EXPECT_EQ(question({{"--cluster", example}, {"--gpus", "128"}}).cluster.tiers.size(), 2U);
  EXPECT_EQ(code_at({{"--cluster", "absent.json"}}), "--cluster not_found");
  EXPECT_EQ(error_of({{"--cluster", "podds"}}).nearest, "pods");
  EXPECT_EQ(code_at({{"--cluster", "pods"}, {"--gpu", "h100"}}), "--gpu conflict");
  EXPECT_EQ(code_at({{"--cluster", "pods"}, {"--gpus-per-node", "8"}}), "--gpus-per-node conflict");
  EXPECT_EQ(error_of({{"--gpu", "h10"}}).nearest, "h100");
}

TEST(QuestionCluster, FiguresByHandHaveTheirFlagAsSource) {
  const Question q = question({{"--gpus", "16"},
                               {"--hbm", "79.2GiB"},
                               {"--hbm-bw", "3.35TB/s"},
                               {"--peak-tflops", "989"},
                               {"--bw-intra", "450"},
                               {"--bw-inter", "400Gbit/s"},
                               {"--latency-intra", "3"},
                               {"--latency-inter", "0.02ms"}});
  const Cluster& c = q.cluster;
  EXPECT_EQ(c.device.memory_reported.value, gibibytes(79.2));
  EXPECT_EQ(c.device.memory_reported.source.kind, SourceKind::kUser);
  EXPECT_EQ(c.device.memory_bandwidth.value, terabytes_per_s(3.35));
  EXPECT_EQ(c.device.peak[static_cast<std::size_t>(Precision::kBf16)]->value, teraflops_per_s(989));
  EXPECT_EQ(c.device.name, "GPU by hand");
  EXPECT_EQ(c.tiers[0].bandwidth.value, gigabytes_per_s(450));
  EXPECT_EQ(c.tiers[0].bandwidth.source.id, "--bw-intra");
  EXPECT_EQ(c.tiers[1].bandwidth.value, gbit_per_s(400));
  EXPECT_EQ(c.tiers[0].latency.value, microseconds(3));
  EXPECT_EQ(c.tiers[1].latency.value, milliseconds(0.02));
  EXPECT_EQ(question({{"--hbm", "80"}}).cluster.device.memory_reported.value, gibibytes(80)) << "bare is GiB";
  EXPECT_EQ(question({{"--gpu", "h100"}, {"--hbm", "94"}}).cluster.device.name, "h100-sxm");
  EXPECT_THAT(question({{"--gpus", "4"}, {"--bw-inter", "50"}}).notes, Contains(HasSubstr("change nothing")));
  EXPECT_THAT(question({{"--cluster", "pods"}, {"--bw-inter", "50"}}).notes,
              Contains(HasSubstr("every tier")));
  EXPECT_EQ(code_at({{"--hbm-bw", "3.35"}}), "--hbm-bw out_of_range") << "TB/s meant, GB/s read";
}

TEST(QuestionCluster, RoundDecimalMemoryGetsANote) {
  const Question q = question({{"--hbm", "80GB"}});
  EXPECT_EQ(q.cluster.device.memory_reported.value, gigabytes(80));
  EXPECT_THAT(q.notes, Contains(HasSubstr("cards sold as 80 GB report 79.2 GiB")));
  EXPECT_TRUE(question({{"--hbm", "79.2GiB"}}).notes.empty());
  EXPECT_TRUE(question({{"--hbm", "79.2GB"}}).notes.empty());
  EXPECT_TRUE(question({{"--hbm", "80"}}).notes.empty());
}

TEST(QuestionCluster, Reserve) {
  const Question q = question({});
  EXPECT_EQ(q.cluster.reserve_fixed.source.kind, SourceKind::kAssumed);
  EXPECT_DOUBLE_EQ(q.cluster.usable().raw(), (gibibytes(192 * 0.96) - gibibytes(2)).raw());
  EXPECT_THAT(q.assumed, Contains(HasSubstr("reserve 2 GiB + 4.0 % of HBM")));
  const Question told = question({{"--reserve", "6"}});
  EXPECT_EQ(told.cluster.reserve(), gibibytes(6));
  EXPECT_THAT(told.assumed, Not(Contains(HasSubstr("reserve"))));
  EXPECT_EQ(question({{"--reserve", "0"}}).cluster.usable(), gibibytes(192));
  EXPECT_EQ(code_at({{"--reserve", "192"}}), "--reserve out_of_range");
}

// The workload
// -----------------------------------------------------------------------------------------------

TEST(QuestionWorkload, DefaultsAreSaid) {
  const Question q = question({});
  EXPECT_EQ(q.workload.sequence, 4096);
  EXPECT_EQ(q.workload.precision(), Precision::kBf16);
  EXPECT_EQ(q.workload.optimizer, Optimizer::kAdamW);
  EXPECT_EQ(q.framework.name, "generic");
  EXPECT_EQ(q.workload.global_batch, 1024) << "4 Mi tokens";
  for (const char* said :
       {"sequence 4096", "optimizer adamw", "precision bf16", "framework generic", "global batch"}) {
    EXPECT_THAT(q.assumed, Contains(HasSubstr(said)));
  }
  EXPECT_EQ(question({{"--gpus", "48"}}).workload.global_batch, 1056) << "a multiple of 96";
  EXPECT_EQ(question({{"--seq", "500"}}).workload.global_batch, 8192) << "not 8,384 = 131 x 64";
  EXPECT_EQ(question({{"--micro-batch", "3"}}).workload.global_batch % 3, 0) << "the told axes divide it";
  EXPECT_EQ(question({{"--gpus", "63"}, {"--dp", "7"}}).workload.global_batch % 7, 0);
  EXPECT_EQ(question({{"--gpus", "500"}}).workload.global_batch, 1000);
  EXPECT_EQ(question({{"--gpus", "16384"}}).workload.global_batch, 1024) << "not 16,384 sequences";
  const Question prime = question({{"--gpus", "2003"}});
  EXPECT_EQ(prime.workload.global_batch, 2003) << "nothing near 1,024 divides";
  EXPECT_THAT(prime.assumed, Contains(HasSubstr("8,204,288 tokens): a multiple of the GPUs")));
  EXPECT_EQ(question({}, Purpose::kMemory).workload.global_batch, 0);
}

TEST(QuestionWorkload, BatchInSequencesOrTokens) {
  EXPECT_EQ(question({{"--global-batch", "1000"}}).workload.global_batch, 1000) << "as told";
  EXPECT_EQ(question({{"--global-batch", "4096000tok"}}).workload.global_batch, 1000) << "whole: as told";
  const Question q = question({{"--global-batch", "4Mtok"}});
  EXPECT_EQ(q.workload.global_batch, 960) << "976.6 to the nearest multiple of 64";
  EXPECT_THAT(q.assumed, Contains(HasSubstr("960 sequences")));
  EXPECT_EQ(question({{"--global-batch", "4Mtok"}, {"--gpus", "16384"}}).workload.global_batch, 1024);
  EXPECT_EQ(question({{"--global-batch", "10ktok"}}).workload.global_batch, 2);
  EXPECT_EQ(code_at({{"--global-batch", "100tok"}}), "--global-batch out_of_range") << "less than a sequence";
  EXPECT_EQ(code_at({{"--global-batch", "4MB"}}), "--global-batch bad_value");
  EXPECT_EQ(question({{"--critical-batch", "2Mtok"}}).workload.critical_batch_tokens, 2e6);
  EXPECT_EQ(code_at({{"--critical-batch", "2"}}), "--critical-batch bad_value");
}

TEST(QuestionWorkload, OnlyPrecisionsThatTheMemoryAccountKnows) {
  const Question fp16 = question({{"--precision", "fp16"}});
  EXPECT_EQ(fp16.workload.precision(), Precision::kFp16);
  EXPECT_THAT(fp16.assumed, Contains(HasSubstr("fp16 at the bf16 rate")));
  for (const char* full : {"fp32", "tf32", "int8"}) {
    EXPECT_EQ(code_at({{"--precision", full}}), "--precision unsupported") << full;
  }
  EXPECT_THAT(error_of({{"--precision", "fp99"}}).expected, Not(HasSubstr("fp32")));
}

TEST(QuestionWorkload, RecipesOfLowPrecision) {
  const auto recipe = [](const char* text) {
    return question({{"--precision", text}, {"--peak-tflops", "800"}}).workload;
  };
  EXPECT_EQ(recipe("MXFP8").recipe, PrecisionRecipe::kMxfp8);
  EXPECT_EQ(recipe("MXFP8").precision(), Precision::kFp8);
  EXPECT_EQ(recipe("fp8_blockwise").recipe, PrecisionRecipe::kFp8Blockwise);
  EXPECT_EQ(recipe("nvfp4").precision(), Precision::kFp4);
  const Question fp4 = question({{"--precision", "fp4"}, {"--peak-tflops", "800"}});
  EXPECT_EQ(fp4.workload.recipe, PrecisionRecipe::kNvfp4);
  EXPECT_THAT(fp4.assumed, Contains("fp4 scaled as nvfp4"));
}

TEST(QuestionWorkload, NamesAndWhatIsNearest) {
  for (const char* optimizer : {"adamw", "adamw-8bit", "adamw_bf16", "Adafactor", "lion", "muon", "SGD"}) {
    EXPECT_NE(question({{"--optimizer", optimizer}}).model.hidden, 0) << optimizer;
  }
  EXPECT_EQ(error_of({{"--optimizer", "adam"}}).nearest, "adamw");
  EXPECT_EQ(error_of({{"--precision", "bf61"}}).nearest, "bf16");
  const Error fp8 = error_of({{"--gpu", "h100"}, {"--precision", "fp8"}});
  EXPECT_EQ(fp8.where + " " + fp8.code, "--precision unsupported");
  EXPECT_EQ(fp8.expected, "one of bf16");
  EXPECT_EQ(question({{"--precision", "fp8"}, {"--peak-tflops", "800"}}).workload.precision(),
            Precision::kFp8);
  EXPECT_EQ(error_of({{"--framework", "generics"}}).nearest, "generic");
  EXPECT_EQ(code_at({{"--framework", "nanotron"}, {"--zero", "3"}}), "--zero unsupported");
  EXPECT_EQ(error_of({{"--activations", "papers"}}).nearest, "paper");
  EXPECT_EQ(question({{"--activations", "paper"}}).activations, ActivationModel::kPaper);
}

// The plan
// ---------------------------------------------------------------------------------------------------

TEST(QuestionAxes, OnlyWhatIsTold) {
  EXPECT_EQ(question({}).fixed, FixedAxes{});
  const FixedAxes f = question({{"--dp", "2"},
                                {"--tp", "4"},
                                {"--pp", "4"},
                                {"--cp", "2"},
                                {"--ep", "8"},
                                {"--etp", "2"},
                                {"--zero", "1"},
                                {"--micro-batch", "3"},
                                {"--interleave", "2"},
                                {"--schedule", "interleaved"},
                                {"--recompute", "selective"},
                                {"--sp", "off"}})
                          .fixed;
  EXPECT_EQ(f.dp, 2);
  EXPECT_EQ(f.tp, 4);
  EXPECT_EQ(f.pp, 4);
  EXPECT_EQ(f.cp, 2);
  EXPECT_EQ(f.ep, 8);
  EXPECT_EQ(f.etp, 2);
  EXPECT_EQ(f.zero_stage, std::int8_t{1});
  EXPECT_EQ(f.micro_batch, 3);
  EXPECT_EQ(f.interleave, 2);
  EXPECT_EQ(f.schedule, Schedule::kInterleaved);
  EXPECT_EQ(f.recompute, Recompute::kSelective);
  EXPECT_EQ(f.sequence_parallel, false);
  for (const char* on : {"on", "true", "yes", "1", "ON"})
    EXPECT_EQ(question({{"--sp", on}}).fixed.sequence_parallel, true);
  EXPECT_EQ(question({{"--zero", "0"}}).fixed.zero_stage, std::int8_t{0});
}

TEST(QuestionAxes, Errors) {
  EXPECT_EQ(code_at({{"--zero", "4"}}), "--zero out_of_range");
  EXPECT_EQ(code_at({{"--zero", "-1"}}), "--zero out_of_range");
  EXPECT_EQ(code_at({{"--sp", "maybe"}}), "--sp bad_value");
  EXPECT_EQ(error_of({{"--schedule", "1f1"}}).nearest, "1f1b");
  EXPECT_EQ(error_of({{"--recompute", "fulll"}}).nearest, "full");
  EXPECT_EQ(code_at({{"--schedule", "zb-v"}, {"--interleave", "2"}}), "--interleave conflict");
  EXPECT_EQ(code_at({{"--recompute", "full:0"}}), "--recompute bad_value");
  EXPECT_EQ(code_at({{"--recompute", "full:1000"}}), "--recompute out_of_range");
  EXPECT_EQ(code_at({{"--recompute", "mlp,moe_act"}}), "--recompute unsupported");
  EXPECT_EQ(code_at({{"--recompute", "mlp"}, {"--activations", "paper"}}), "--activations conflict");
  EXPECT_EQ(error_of({{"--recompute", "mlp,layernom"}}).nearest, "layernorm");
  EXPECT_EQ(code_at({{"--schedule", "1f1b"}, {"--interleave", "2"}}), "--interleave conflict");
  EXPECT_EQ(code_at({{"--schedule", "interleaved"}, {"--interleave", "1"}}), "--interleave conflict");
  EXPECT_EQ(code_at({{"--gpus", "64"}, {"--tp", "3"}}), "--gpus, --tp not_divisible");
  EXPECT_EQ(code_at({{"--gpus", "64"}, {"--tp", "16777216"}, {"--pp", "16777216"}, {"--cp", "16777216"}}),
            "--gpus, --tp, --pp not_divisible");
  const Error e = error_of({{"--gpus", "64"}, {"--dp", "2"}, {"--tp", "8"}, {"--pp", "2"}, {"--cp", "1"}});
  EXPECT_EQ(e.code, "not_divisible");
  EXPECT_EQ(e.expected, "32 GPUs");
}

Result<MemoryPlan> memory_plan(const Told& told) {
  return default_memory_plan(question(told, Purpose::kMemory));
}

TEST(MemoryPlan, OneGpuWhenNothingIsTold) {
  const Result<MemoryPlan> m = memory_plan({});
  ASSERT_TRUE(m);
  EXPECT_EQ(m->plan, Plan{});
  for (const char* said :
       {"tp, pp, cp, ep, etp not told: 1", "dp 1", "micro-batch 1", "recompute none", "one replica"}) {
    EXPECT_THAT(m->assumed, Contains(HasSubstr(said)));
  }
}

TEST(MemoryPlan, RemainingGpusAreReplicasInFullSharding) {
  const Result<MemoryPlan> m = memory_plan({{"--gpus", "64"}, {"--tp", "4"}, {"--pp", "2"}});
  ASSERT_TRUE(m);
  EXPECT_EQ(m->plan.dp, 8);
  EXPECT_EQ(m->plan.zero_stage, 3);
  EXPECT_EQ(m->plan.grad_accumulation, 2) << "as many micro-batches as stages";
  EXPECT_TRUE(m->plan.sequence_parallel);
  EXPECT_EQ(m->plan.schedule, Schedule::k1F1B);
  EXPECT_THAT(m->assumed, Contains(HasSubstr("ZeRO stage 3")));
  EXPECT_THAT(m->assumed, Contains("cp, ep, etp not told: 1"));
}

TEST(MemoryPlan, MoreLayersThanAChunkHasAreSaid) {
  const auto said = [](const char* recompute) {
    const Question q =
        question({{"--gpus", "8"}, {"--pp", "4"}, {"--recompute", recompute}}, Purpose::kMemory);
    const Result<MemoryPlan> plan = default_memory_plan(q);
    EXPECT_TRUE(plan);
    std::string all;
    for (const std::string& line : plan->assumed) all += line + "\n";
    return all;
  };
  EXPECT_THAT(said("full:9"), HasSubstr("full:9 takes in whole chunks: the longest has 8 layers"));
  EXPECT_THAT(said("full:8"), testing::Not(HasSubstr("whole chunks")));
}

TEST(MemoryPlan, WhatIsToldHolds) {
  const Result<MemoryPlan> m = memory_plan({{"--gpus", "64"},
                                            {"--tp", "8"},
                                            {"--pp", "4"},
                                            {"--cp", "1"},
                                            {"--ep", "1"},
                                            {"--etp", "1"},
                                            {"--dp", "2"},
                                            {"--zero", "1"},
                                            {"--micro-batch", "2"},
                                            {"--schedule", "interleaved"},
                                            {"--recompute", "full"},
                                            {"--sp", "off"},
                                            {"--global-batch", "64"}});
  ASSERT_TRUE(m);
  EXPECT_EQ(m->plan.zero_stage, 1);
  EXPECT_EQ(m->plan.interleave, 2);
  EXPECT_EQ(m->plan.grad_accumulation, 16);
  EXPECT_EQ(m->plan.recompute, Recompute::kFull);
  EXPECT_FALSE(m->plan.sequence_parallel);
  EXPECT_EQ(m->assumed, std::vector<std::string>{"interleave 2"});
}

TEST(MemoryPlan, FrameworkAndBatchLimits) {
  const Result<MemoryPlan> nanotron = memory_plan({{"--gpus", "8"}, {"--framework", "nanotron"}});
  ASSERT_TRUE(nanotron);
  EXPECT_EQ(nanotron->plan.zero_stage, 1) << "it has no more";
  const Result<MemoryPlan> batch = memory_plan({{"--gpus", "8"}, {"--global-batch", "12"}});
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().where, "--global-batch");
  const Result<MemoryPlan> degrees = memory_plan({{"--gpus", "8"}, {"--dp", "4"}});
  ASSERT_FALSE(degrees);
  EXPECT_EQ(degrees.error().expected, "4");
}

}  // namespace
}  // namespace shardplan
