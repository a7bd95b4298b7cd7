// Each kind of failure applies to one question and not to another, and its level is where a new estimate
// finds it.
#include "reason/failure_modes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "estimate/interruptions.h"
#include "estimate/tier_bandwidth.h"
#include "import/flag_list.h"
#include "reason/axes.h"
#include "reason/cited_quantity.h"
#include "reason/judged_by.h"

namespace shardplan {
namespace {

using ::testing::Contains;
using ::testing::Not;

/// The one plan of a question that tells all its axes.
struct Judged {
  explicit Judged(const FlagList& flags)
      : question(question_from_flags(Purpose::kPlan, flags, catalog()).value()),
        best(fastest(estimator, question.fixed, std::nullopt, nullptr).best.value()),
        axes(axis_findings(estimator, best)),
        modes(failure_modes(estimator, best, axes)) {}
  Question question;
  Estimator estimator{question};
  Estimate best;
  std::vector<AxisFinding> axes;
  std::vector<FailureMode> modes;

  const FailureMode* find(const std::string& id) const {
    const auto at = std::find_if(modes.begin(), modes.end(), [&](const auto& m) { return m.id == id; });
    return at == modes.end() ? nullptr : &*at;
  }
  double level(const std::string& id) const { return find(id)->level->value; }
  Seconds<> step(const Question& other) const { return Estimator(other).time<double>(best.plan).total(); }
};

double figure(const FailureMode& mode, const std::string& name) {
  for (const StatedFigure& s : mode.figures)
    if (s.id == name) return s.value;
  ADD_FAILURE() << mode.id << " has no figure " << name;
  return NAN;
}

FlagList gpt(const FlagList& more) {
  FlagList all{
      {"--params", "175"}, {"--layers", "96"}, {"--hidden", "12288"}, {"--heads", "96"}, {"--seq", "2048"}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
FlagList llama(const char* model, const char* gpus, const FlagList& more) {
  FlagList all{{"--model", model}, {"--gpu", "h100-sxm"}, {"--gpus", gpus}, {"--framework", "megatron"}};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

const Judged& across_nodes() {
  static const Judged judged(gpt({{"--gpus", "64"},
                                  {"--tp", "16"},
                                  {"--pp", "4"},
                                  {"--recompute", "full"},
                                  {"--schedule", "1f1b"},
                                  {"--micro-batch", "1"},
                                  {"--global-batch", "16"},
                                  {"--critical-batch", "16ktok"}}));
  return judged;
}
const Judged& replicas() {
  static const Judged judged(gpt({{"--gpus", "64"}}));
  return judged;
}
const Judged& many() {
  static const Judged judged(llama("llama3-8b", "512",
                                   {{"--tp", "1"},
                                    {"--pp", "1"},
                                    {"--cp", "1"},
                                    {"--dp", "512"},
                                    {"--zero", "1"},
                                    {"--micro-batch", "1"},
                                    {"--recompute", "full"},
                                    {"--global-batch", "512"}}));
  return judged;
}

/// Messages so small that latency takes most of their time.
const Judged& tiny() {
  static const Judged judged({{"--params", "0.3"},
                              {"--layers", "24"},
                              {"--hidden", "1024"},
                              {"--heads", "16"},
                              {"--seq", "512"},
                              {"--gpus", "8"},
                              {"--tp", "8"},
                              {"--micro-batch", "1"},
                              {"--global-batch", "16"},
                              {"--recompute", "none"},
                              {"--latency-intra", "20"}});
  return judged;
}

// Every kind of the registry, on a plan that has it and on one that has not.
TEST(FailureModes, EachAppliesWhereItShould) {
  const Judged one(llama("llama3-8b", "8", {{"--recompute", "full"}}));
  const Judged experts({{"--model", "qwen3-30b-a3b"},
                        {"--gpu", "h200"},
                        {"--gpus", "16"},
                        {"--ep", "8"},
                        {"--framework", "megatron"}});
  const Judged context(llama(
      "llama3-8b", "8",
      {{"--cp", "8"}, {"--tp", "1"}, {"--seq", "131072"}, {"--global-batch", "8"}, {"--recompute", "full"}}));
  const Judged offload({{"--model", "llama3-8b"},
                        {"--gpu", "h100-sxm"},
                        {"--gpus", "8"},
                        {"--framework", "deepspeed"},
                        {"--offload", "optimizer"},
                        {"--zero", "2"},
                        {"--recompute", "full"}});
  const Judged sends(llama("llama3-70b", "64",
                           {{"--pp", "8"},
                            {"--tp", "8"},
                            {"--global-batch", "64"},
                            {"--micro-batch", "1"},
                            {"--recompute", "full"}}));
  const struct {
    const char* id;
    const Judged &with, &without;
  } kinds[] = {{"exposed_sends", sends, one},
               {"latency_bound", tiny(), one},
               {"logits_spike", one, across_nodes()},
               {"thin_headroom", one, across_nodes()},
               {"exposed_reduction", replicas(), one},
               {"cross_node_tensor", across_nodes(), one},
               {"bubble", across_nodes(), one},
               {"beyond_critical_batch", across_nodes(), one},
               {"stragglers", many(), one},
               {"expert_imbalance", experts, one},
               {"recompute_transient", across_nodes(), replicas()},
               {"causal_ring", context, one},
               {"host_offload", offload, one},
               {"interruptions", many(), one}};
  for (const auto& kind : kinds) {
    EXPECT_NE(kind.with.find(kind.id), nullptr) << kind.id;
    EXPECT_EQ(kind.without.find(kind.id), nullptr) << kind.id;
  }
  for (const Judged* judged :
       {&one, &experts, &context, &offload, &across_nodes(), &replicas(), &many(), &sends, &tiny()}) {
    for (const FailureMode& f : judged->modes) {
      ASSERT_TRUE(f.level) << f.id;
      EXPECT_TRUE(std::isfinite(f.level->value)) << f.id;
      EXPECT_GT(f.level->value, 0) << f.id;
      EXPECT_THAT((std::vector<std::string>{"above", "below"}), Contains(f.level->when)) << f.id;
      EXPECT_FALSE(f.symptom.empty()) << f.id;
      EXPECT_FALSE(f.metric.empty()) << f.id;
    }
  }
}

// What a sentence says to its last digit is a figure of the finding.
TEST(FailureModes, SentencesAreMadeOfTheirFigures) {
  int seen = 0;
  for (const Judged* judged : {&across_nodes(), &replicas(), &many()}) {
    for (const FailureMode& f : judged->modes) {
      std::vector<double> known{f.level->value};
      for (const StatedFigure& s : f.figures) known.push_back(s.value);
      for (const std::string& text : {f.statement, f.level->statement}) {
        for (const CitedQuantity& q : cited_quantities(text)) {
          const bool found = std::any_of(known.begin(), known.end(), [&](double v) {
            return std::fabs(v - q.value) <= 6e-4 * std::fabs(q.value) || std::fabs(v - q.value) <= 6e-4;
          });
          EXPECT_TRUE(found) << f.id << ": " << q.value << " in " << text;
          ++seen;
        }
      }
    }
  }
  EXPECT_GT(seen, 30);
}

TEST(FailureModes, HeadroomIsGoneAtTheLevelOfFragmentation) {
  const Judged one(llama("llama3-8b", "8", {{"--recompute", "full"}}));
  const auto fits = [&](double fragmentation) {
    Question q = one.question;
    q.cluster.reserve_share.value = bytes(fragmentation) / q.cluster.device.memory_reported.value;
    return std::holds_alternative<Estimate>(Estimator(q).estimate(one.best.plan));
  };
  EXPECT_TRUE(fits(one.level("thin_headroom") * 0.999));
  EXPECT_FALSE(fits(one.level("thin_headroom") * 1.001));
}

Question with_bandwidth(const Question& question, std::size_t tier, double bandwidth) {
  Question q = question;
  q.cluster.tiers[tier].bandwidth.value =
      bytes_per_s(bandwidth) * q.cluster.tiers[tier].oversubscription.value;
  return q;
}

double figure_of(const std::vector<StatedFigure>& figures, const std::string& name) {
  const auto at = std::find_if(figures.begin(), figures.end(), [&](const auto& s) { return s.id == name; });
  return at == figures.end() ? NAN : at->value;
}

TEST(FailureModes, TheReductionNeedsWhatItsAxisSaysItNeeds) {
  const Judged exposed(llama("llama3-70b", "64",
                             {{"--tp", "4"},
                              {"--pp", "4"},
                              {"--cp", "2"},
                              {"--dp", "2"},
                              {"--zero", "1"},
                              {"--micro-batch", "1"},
                              {"--seq", "8192"},
                              {"--global-batch", "512"}}));
  int hidden = 0, beyond = 0;
  for (const Judged* judged : {&replicas(), &exposed, &many()}) {
    const FailureMode* mode = judged->find("exposed_reduction");
    const AxisFinding* axis = gradient_reduction(judged->axes);
    if (mode == nullptr || !axis->required_bandwidth) continue;
    EXPECT_EQ(figure(*mode, "needs"), figure_of(axis->figures, "required"));
    EXPECT_EQ(figure(*mode, "has"), axis->available_bandwidth->raw());
    const bool hides = *axis->required_bandwidth <= *axis->available_bandwidth;
    if (hides) {
      EXPECT_EQ(mode->level->value, figure(*mode, "needs"));
    }
    ++(hides ? hidden : beyond);
  }
  EXPECT_GE(hidden, 1);
  EXPECT_GE(beyond, 1);
}

TEST(FailureModes, TheReductionIsExposedBelowItsLevel) {
  const Judged& judged = replicas();
  const AxisFinding* reduction = gradient_reduction(judged.axes);
  ASSERT_NE(reduction, nullptr);
  const std::vector<Tier>& tiers = judged.question.cluster.tiers;
  const auto named = std::find_if(tiers.begin(), tiers.end(),
                                  [&](const Tier& tier) { return tier.name == reduction->tier; });
  const auto tier = static_cast<std::size_t>(named - tiers.begin());
  const auto exposed = [&](double bandwidth) {
    const Question q = with_bandwidth(judged.question, tier, bandwidth);
    return Estimator(q).time<double>(judged.best.plan)[TimeTerm::kData].exposed().raw();
  };
  const double level = judged.level("exposed_reduction");
  const double now = judged.best.time[TimeTerm::kData].exposed().raw();
  const auto has = tier_bandwidth(judged.question.cluster, tier);
  ASSERT_LT(level, has.raw()) << "it is hidden now";
  EXPECT_NEAR(exposed(level * 1.01), now, 1e-3 * judged.best.step.raw());
  EXPECT_GT(exposed(level * 0.9), now + 0.01 * judged.best.step.raw());
}

TEST(FailureModes, TensorParallelismAcrossNodesIsFeltAtItsLevel) {
  for (const FlagList& flags : {gpt({{"--gpus", "64"},
                                     {"--tp", "16"},
                                     {"--pp", "4"},
                                     {"--recompute", "full"},
                                     {"--global-batch", "16"}}),
                                llama("llama3-70b", "32", {{"--tp", "16"}, {"--recompute", "full"}})}) {
    const Judged judged(flags);
    ASSERT_NE(judged.find("cross_node_tensor"), nullptr);
    const auto tier = judged.best.time.axis(Axis::kTensor).group.tier;
    const Question slower = with_bandwidth(judged.question, tier, judged.level("cross_node_tensor"));
    EXPECT_NEAR(Estimator(slower).time<double>(judged.best.plan)[TimeTerm::kTensor].exposed().raw() -
                    judged.best.time[TimeTerm::kTensor].exposed().raw(),
                0.1 * judged.best.step.raw(), 0.01 * judged.best.step.raw());
  }
}

TEST(FailureModes, SendsAreFeltAtTheirLevel) {
  const Judged judged(llama("llama3-70b", "64",
                            {{"--pp", "8"},
                             {"--tp", "8"},
                             {"--global-batch", "64"},
                             {"--micro-batch", "1"},
                             {"--recompute", "full"}}));
  ASSERT_NE(judged.find("exposed_sends"), nullptr);
  const auto tier = judged.best.time.axis(Axis::kPipeline).group.paced_by;
  const auto longer = [&](double factor) {
    const Question slower = with_bandwidth(judged.question, tier, judged.level("exposed_sends") * factor);
    return (Estimator(slower).time<double>(judged.best.plan)[TimeTerm::kPipelineSends].exposed() -
            judged.best.time[TimeTerm::kPipelineSends].exposed()) /
           judged.best.step;
  };
  EXPECT_GT(longer(0.98), ratio(0.1));
  EXPECT_LT(longer(1.02), ratio(0.1));
}

TEST(FailureModes, CollectivesAsLongAsTheLevelOfLatencyAreFelt) {
  const Judged& judged = tiny();
  const FailureMode& mode = *judged.find("latency_bound");
  const AxisCost<>& cost = judged.best.time.axis(Axis::kTensor);
  ASSERT_EQ(figure(mode, "once"), cost.once().raw());
  EXPECT_GT(figure(mode, "latency_share"), 0.5);
  EXPECT_LT(figure(mode, "left"), figure(mode, "felt"));
  EXPECT_GT(figure(mode, "left"), figure(mode, "felt") * figure(mode, "latency_share") * 0.99);
  Question slower = judged.question;
  Tier& node = slower.cluster.tiers[0];
  node.latency.value =
      node.latency.value * ((seconds(judged.level("latency_bound")) - cost.group.cost.bandwidth_term) /
                            cost.group.cost.latency_term);
  const TimeBreakdown<> time = Estimator(slower).time<double>(judged.best.plan);
  ASSERT_NEAR(time.axis(Axis::kTensor).once().raw(), judged.level("latency_bound"), 1e-9);
  EXPECT_NEAR((time[TimeTerm::kTensor].exposed() - judged.best.time[TimeTerm::kTensor].exposed()).raw(),
              0.1 * judged.best.step.raw(), 0.002 * judged.best.step.raw());
}

TEST(FailureModes, OneMoreCopyOfTheLogitsDoesNotFitWhereTheirSpikeApplies) {
  for (const char* recompute : {"full", "none"}) {
    for (const char* sequence : {"2048", "8192", "16384"}) {
      const Judged judged(llama("llama3-8b", "8",
                                {{"--recompute", recompute},
                                 {"--seq", sequence},
                                 {"--tp", "2"},
                                 {"--global-batch", "16"},
                                 {"--micro-batch", "1"}}));
      const MemoryAccount account = judged.estimator.memory_account(judged.best.plan);
      const Bytes<> copy = bytes(std::stod(sequence) * static_cast<double>(judged.question.model.vocab) * 4 /
                                 judged.best.plan.tp / judged.best.plan.cp);
      const Bytes<> left = account.usable - account.by_stage.back().total();
      const FailureMode* mode = judged.find("logits_spike");
      EXPECT_EQ(mode != nullptr, copy > left) << sequence;
      if (mode == nullptr) continue;
      EXPECT_DOUBLE_EQ(figure(*mode, "copy"), copy.raw());
      EXPECT_DOUBLE_EQ(mode->level->value, (account.peaks.back().allocated + left).raw());
    }
  }
}

TEST(FailureModes, WhatTheyAreJudgedByIsListedWithItsSource) {
  const std::vector<JudgedBy> by = judged_by(*many().question.risk, many().axes, many().modes);
  const auto find = [&](const std::string& id) {
    const auto at = std::find_if(by.begin(), by.end(), [&](const JudgedBy& j) { return j.id == id; });
    return at == by.end() ? nullptr : &*at;
  };
  ASSERT_NE(find("felt_share"), nullptr);
  EXPECT_EQ(find("felt_share")->source.kind, SourceKind::kPublished);
  EXPECT_EQ(find("felt_share")->value, 0.1);
  ASSERT_NE(find("slow_gpu_share"), nullptr);
  EXPECT_THAT(find("slow_gpu_share")->source.ref, testing::HasSubstr("arXiv:2402.15627"));
  EXPECT_EQ(find("bubble_share_allowed"), nullptr) << "there is no pipeline";
  for (const JudgedBy& j : by) EXPECT_FALSE(j.source.note.empty()) << j.id;
}

TEST(FailureModes, FewerMicroBatchesThanTheBubblesLevelAreFelt) {
  const Judged judged(gpt({{"--gpus", "64"},
                           {"--tp", "8"},
                           {"--pp", "8"},
                           {"--recompute", "full"},
                           {"--global-batch", "64"},
                           {"--micro-batch", "1"},
                           {"--schedule", "1f1b"}}));
  ASSERT_NE(judged.find("bubble"), nullptr);
  const std::int32_t now = judged.best.plan.grad_accumulation;
  int above = 0, below = 0;
  for (std::int32_t m = now - 1; m > 0; --m) {
    Plan fewer = judged.best.plan;
    fewer.grad_accumulation = m;
    const TimeBreakdown<> time = judged.estimator.time<double>(fewer);
    const double longer = (time.total() / judged.best.step).raw() * now / m - 1;
    const double idle = (time[TimeTerm::kBubble].exposed() / time.total()).raw();
    // What a step has once makes it a little longer still.
    if (idle > judged.level("bubble")) {
      EXPECT_GT(longer, 0.099) << m;
      ++above;
    }
    if (idle < judged.level("bubble") * 0.95) {
      EXPECT_LT(longer, 0.1) << m;
      ++below;
    }
  }
  EXPECT_GT(above, 3);
  EXPECT_GT(below, 3);
}

TEST(FailureModes, GpusAsSlowAsTheStragglerOfItsLevelMakeTheStepATenthLonger) {
  const Judged& judged = many();
  Question slow = judged.question;
  for (auto& peak : slow.cluster.device.peak)
    if (peak) peak->value = peak->value / judged.level("stragglers");
  EXPECT_NEAR((judged.step(slow) / judged.best.step).raw(), 1.1, 0.015);
}

TEST(FailureModes, AnImbalanceOfItsLevelExceedsMemoryOrIsFelt) {
  for (const FlagList& more : {FlagList{{"--gpu", "h200"}, {"--gpus", "16"}, {"--ep", "8"}},
                               FlagList{{"--gpu", "h100-sxm"}, {"--gpus", "32"}, {"--ep", "8"}}}) {
    FlagList flags{{"--model", "qwen3-30b-a3b"}, {"--framework", "megatron"}};
    flags.insert(flags.end(), more.begin(), more.end());
    const Judged judged(flags);
    const auto arrived = [&](double load) {
      Question q = judged.question;
      q.workload.expert_load = load;
      const Outcome outcome = Estimator(q).estimate(judged.best.plan);
      const auto* e = std::get_if<Estimate>(&outcome);
      return e == nullptr || e->step >= judged.best.step * 1.1;
    };
    EXPECT_TRUE(arrived(judged.level("expert_imbalance") * 1.001));
    EXPECT_FALSE(arrived(judged.level("expert_imbalance") * 0.999));
  }
}

TEST(Interruptions, GoodputFallsBelowNineTenthsAtItsLevel) {
  const Judged& judged = many();
  const FailureMode& mode = *judged.find("interruptions");
  const Interruptions<> now = interruptions<double>(judged.estimator);
  EXPECT_EQ(figure(mode, "effective"), now.effective.raw());
  EXPECT_GT(now.effective, ratio(0.9));
  const auto at_rate = [&](double a_day) {
    Question q = judged.question;
    q.cluster.reliability.mtbf_gpu.value = seconds(86400.0 * static_cast<double>(q.cluster.gpus) / a_day);
    return interruptions<double>(Estimator(q)).effective.raw();
  };
  EXPECT_GT(at_rate(judged.level("interruptions") * 0.999), 0.9);
  EXPECT_LT(at_rate(judged.level("interruptions") * 1.001), 0.9);
}

TEST(Interruptions, OfLlama3AreThoseThatItsPaperReports) {
  Question q = question_from_flags(Purpose::kPlan,
                                   llama("llama3-405b", "16384", {{"--tp", "8"}, {"--pp", "16"}}), catalog())
                   .value();
  const Interruptions<> i = interruptions<double>(Estimator(q));
  EXPECT_NEAR(54 * 86400 / i.between.raw(), 419, 0.01);
  EXPECT_GT(i.effective, ratio(0.9)) << "more than 90 % effective training time";
  // 2 of weights, 12 of masters and moments.
  EXPECT_NEAR(i.checkpoint.raw(), 405.85e9 * 14, 0.01 * 405.85e9 * 14);
}

TEST(Interruptions, AreToldByFlags) {
  const Judged judged(llama("llama3-8b", "8",
                            {{"--recompute", "full"},
                             {"--mtbf-gpu-hours", "80"},
                             {"--restart-time", "5min"},
                             {"--checkpoint-bandwidth", "2"}}));
  const FailureMode* mode = judged.find("interruptions");
  ASSERT_NE(mode, nullptr);
  EXPECT_DOUBLE_EQ(figure(*mode, "between"), 36000);
  EXPECT_DOUBLE_EQ(figure(*mode, "restart"), 300);
  EXPECT_DOUBLE_EQ(figure(*mode, "storage"), 2e9);
  EXPECT_DOUBLE_EQ(figure(*mode, "write"), figure(*mode, "checkpoint") / 2e9);
  for (const auto& [flag, wrong] : {std::pair{"--mtbf-gpu-hours", "0"}, std::pair{"--restart-time", "-1"},
                                    std::pair{"--checkpoint-bandwidth", "fast"}}) {
    const auto refused =
        question_from_flags(Purpose::kPlan, llama("llama3-8b", "8", {{flag, wrong}}), catalog());
    ASSERT_FALSE(refused) << flag;
    EXPECT_EQ(refused.error().where, flag);
  }
}

TEST(Interruptions, AreNotSaidOfASmallCluster) {
  EXPECT_EQ(Judged(llama("llama3-8b", "64", {{"--recompute", "full"}})).find("interruptions"), nullptr);
  EXPECT_NE(Judged(llama("llama3-8b", "128", {{"--recompute", "full"}})).find("interruptions"), nullptr);
}

}  // namespace
}  // namespace shardplan
