#include "reason/sensitivity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "import/question.h"

namespace shardplan {
namespace {

QuestionSpec spec_of(const char* preset, const char* gpu, const char* gpus,
                     const char* framework = "megatron") {
  QuestionSpec s;
  s.preset = preset;
  s.gpu = gpu;
  s.gpus = gpus;
  s.framework = framework;
  return s;
}

struct Asked {
  explicit Asked(const QuestionSpec& spec) : question(build_question(spec, catalog()).value()) {}
  Question question;
  Estimator estimator{question};
  SearchResult result = fastest(estimator, question.fixed);
  std::vector<Sensitivity> sensitivity = shardplan::sensitivity(estimator, *result.best);
  const Estimate& best() const { return *result.best; }
  const Sensitivity* of(const std::string& parameter) const {
    for (const Sensitivity& s : sensitivity) {
      if (s.parameter == parameter) return &s;
    }
    return nullptr;
  }
};

/// The plan's step under a question that is asked anew.
double step_of(const QuestionSpec& spec, const Plan& plan) {
  const Question question = build_question(spec, catalog()).value();
  return Estimator(question).time<double>(plan).total().raw();
}

std::string gigabytes(double bytes_per_s) { return std::to_string(bytes_per_s / 1e9); }

TEST(Sensitivity, EachStepIsWhatAQuestionAskedAnewSays) {
  // By hand all figures come from flags, which say the same another way.
  QuestionSpec spec;
  spec.params = "13";
  spec.layers = "40";
  spec.hidden = "5120";
  spec.heads = "40";
  spec.gpus = "64";
  spec.tp = "8";
  spec.pp = "2";
  const Asked asked(spec);
  int compared = 0;
  for (const Sensitivity& s : asked.sensitivity) {
    for (const auto& [value, step] : {std::pair{s.low, s.step_low}, {s.high, s.step_high}}) {
      QuestionSpec other = spec;
      if (s.parameter == "bandwidth_inter_node")
        other.bw_inter = gigabytes(value);
      else if (s.parameter == "bandwidth_intra_node")
        other.bw_intra = gigabytes(value);
      else if (s.parameter == "latency_inter_node")
        other.latency_inter = std::to_string(value * 1e6);
      else if (s.parameter == "latency_intra_node")
        other.latency_intra = std::to_string(value * 1e6);
      else if (s.parameter == "peak_bf16")
        other.peak_tflops = std::to_string(value / 1e12);
      else if (s.parameter == "hbm_bandwidth")
        other.hbm_bw = gigabytes(value);
      else
        continue;
      other.global_batch = std::to_string(asked.question.workload.global_batch);
      EXPECT_NEAR(step.raw() / step_of(other, asked.best().plan), 1, 1e-6) << s.parameter;
      ++compared;
    }
  }
  EXPECT_GE(compared, 8);
}

TEST(Sensitivity, SequenceAndBatchAreForAsManyTokens) {
  const QuestionSpec spec = spec_of("llama3-8b", "h100-sxm", "16");
  const Asked asked(spec);
  const Sensitivity* sequence = asked.of("sequence");
  ASSERT_NE(sequence, nullptr);
  QuestionSpec longer = spec;
  longer.seq = std::to_string(static_cast<std::int64_t>(sequence->high));
  longer.global_batch = std::to_string(asked.question.workload.global_batch);
  EXPECT_NEAR(sequence->step_high.raw(),
              step_of(longer, asked.best().plan) * sequence->current / sequence->high, 1e-9);
}

TEST(Sensitivity, TheLargestSwingIsFirstAndTenAreKept) {
  for (const char* preset : {"llama3-8b", "llama3-70b", "qwen3-30b-a3b"}) {
    const Asked asked(spec_of(preset, "h100-sxm", "64"));
    const auto& all = asked.sensitivity;
    ASSERT_FALSE(all.empty());
    EXPECT_LE(all.size(), 10U);
    double last = std::numeric_limits<double>::infinity();
    for (const Sensitivity& s : all) {
      const double step = asked.best().step.raw();
      const double swing = std::max(std::fabs(s.step_low.raw() - step), std::fabs(s.step_high.raw() - step));
      EXPECT_LE(swing, last) << s.parameter;
      EXPECT_GT(swing, 0) << s.parameter;
      EXPECT_LE(s.low, s.current);
      EXPECT_GE(s.high, s.current);
      last = swing;
    }
  }
}

TEST(Sensitivity, MoreOfWhatIsFastIsNeverSlower) {
  for (const char* preset : {"llama3-8b", "llama3-70b", "qwen3-30b-a3b"}) {
    const Asked asked(spec_of(preset, "h100-sxm", "64"));
    for (const Sensitivity& s : asked.sensitivity) {
      const auto starts = [&](const char* with) { return s.parameter.starts_with(with); };
      const double rounding = 1e-9 * asked.best().step.raw();
      const bool rate = starts("bandwidth") || starts("peak") || starts("hbm") || starts("gemm_efficiency") ||
                        starts("attention_efficiency");
      const bool delay =
          starts("latency") || starts("contention") || starts("expert_load") || starts("kernel_launch");
      const double low = s.step_low.raw(), high = s.step_high.raw();
      EXPECT_TRUE(!rate || high <= low + rounding) << preset << " " << s.parameter;
      EXPECT_TRUE(!delay || high >= low - rounding) << preset << " " << s.parameter;
    }
  }
}

TEST(Sensitivity, SharesAreNoMoreThanOneAndSayWhereTheyStop) {
  QuestionSpec spec;  // the course's cluster reaches all of its figures
  spec.preset = "llama3-8b";
  const Asked asked(spec);
  const Sensitivity* gemm = asked.of("gemm_efficiency_bf16");
  ASSERT_NE(gemm, nullptr);
  EXPECT_EQ(gemm->high, 1);
  EXPECT_EQ(gemm->step_high, asked.best().step);
  EXPECT_THAT(gemm->range, testing::HasSubstr("no more than 1"));
}

TEST(Sensitivity, AFittedConstantIsAsFarOffAsItsFit) {
  const Asked asked(spec_of("llama3-70b", "h100-sxm", "64"));
  const Sensitivity* gemm = asked.of("gemm_efficiency_bf16");
  ASSERT_NE(gemm, nullptr);
  EXPECT_THAT(gemm->range, testing::StartsWith("+- "));
  EXPECT_GT(gemm->low / gemm->current, 0.9);
}

}  // namespace
}  // namespace shardplan
