// Properties of recomputation and of the schedules that a search does not try by itself: what more of it
// costs and saves, and that both readings of every formula still agree.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "estimate/estimator.h"
#include "estimate/test_questions.h"

namespace shardplan {
namespace {

constexpr std::int32_t kLayers = 32;

Question latent_mixture() {
  Question q = llama3_8b_question(4096, 64);
  for (std::size_t i = 0; i < q.model.layers.size(); ++i) {
    q.model.layers[i].mixer = LatentAttention{
        .heads = 32, .q_rank = 1024, .kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .value_dim = 128};
    if (i > 0) q.model.layers[i].mlp = MoeMlp{.experts = 16, .top_k = 2, .width = 4096, .shared_width = 4096};
  }
  return q;
}

std::vector<Question> questions() {
  std::vector<Question> all;
  for (Question q : {llama3_8b_question(4096, 64), latent_mixture()}) {
    for (const ActivationModel model : {ActivationModel::kOps, ActivationModel::kPaper}) {
      q.activations = model;
      all.push_back(q);
    }
  }
  return all;
}

Plan pipeline(Schedule schedule = Schedule::k1F1B) {
  Plan p;
  p.dp = 2;
  p.tp = 4;
  p.pp = 8;
  p.sequence_parallel = true;
  p.zero_stage = 1;
  p.grad_accumulation = 32;
  p.schedule = schedule;
  return p;
}

constexpr Schedule kSchedules[] = {Schedule::kGpipe, Schedule::k1F1B, Schedule::kZbH1, Schedule::kZbV,
                                   Schedule::kDualPipe};

double most(const Estimator& estimator, const Plan& p) {
  double bytes = 0;
  for (int s = 0; s < p.pp; ++s) {
    bytes = std::max(bytes, estimator.stage_memory<double>(p, s).total().raw());
  }
  return bytes;
}

double most_activations(const Estimator& estimator, const Plan& p) {
  double bytes = 0;
  for (int s = 0; s < p.pp; ++s) {
    bytes = std::max(bytes, estimator.stage_memory<double>(p, s)[MemoryTerm::kActivations].raw());
  }
  return bytes;
}

std::vector<Recompute> recomputations() {
  std::vector<Recompute> all{Recompute::kNone, Recompute::kSelective, Recompute::kFull};
  for (std::int32_t n = 1; n <= kLayers; n *= 2) {
    all.push_back(Recompute::block(n));
    all.push_back(Recompute::uniform(n));
  }
  for (unsigned m = 1; m < (1U << kModuleCount); m += 5) {
    all.push_back(Recompute::of_modules(static_cast<std::uint8_t>(m)));
  }
  return all;
}

TEST(RecomputeProperty, MoreLayersNeverNeedMoreMemoryNorLessTime) {
  for (const Question& q : questions()) {
    const Estimator estimator(q);
    for (const Schedule schedule : kSchedules) {
      Plan p = pipeline(schedule);
      double before = most(estimator, p), step = estimator.time<double>(p).total().raw();
      for (std::int32_t n = 1; n <= kLayers / p.pp; ++n) {
        p.recompute = Recompute::block(n);
        const double now = most(estimator, p), slower = estimator.time<double>(p).total().raw();
        EXPECT_LE(now, before * (1 + 1e-12)) << canonical(p);
        EXPECT_GE(slower, step * (1 - 1e-12)) << canonical(p);
        before = now;
        step = slower;
      }
    }
  }
}

TEST(RecomputeProperty, MoreModulesNeverNeedMoreMemoryNorLessTime) {
  for (const Question& q : questions()) {
    const Estimator estimator(q);
    if (q.activations == ActivationModel::kPaper) continue;
    for (unsigned m = 0; m < (1U << kModuleCount); ++m) {
      Plan p = pipeline();
      p.recompute = m == 0 ? Recompute::kNone : Recompute::of_modules(static_cast<std::uint8_t>(m));
      const double before = most(estimator, p), step = estimator.time<double>(p).total().raw();
      for (unsigned bit = 1; bit < (1U << kModuleCount); bit *= 2) {
        Plan more = p;
        more.recompute = Recompute::of_modules(static_cast<std::uint8_t>(m | bit));
        EXPECT_LE(most(estimator, more), before * (1 + 1e-12)) << canonical(p) << " " << canonical(more);
        EXPECT_GE(estimator.time<double>(more).total().raw(), step * (1 - 1e-12)) << canonical(more);
      }
    }
  }
}

TEST(RecomputeProperty, EveryLayerIsFull) {
  for (const Question& q : questions()) {
    const Estimator estimator(q);
    for (const Schedule schedule : kSchedules) {
      Plan full = pipeline(schedule), all = full;
      full.recompute = Recompute::kFull;
      all.recompute = Recompute::block(kLayers);
      EXPECT_EQ(most(estimator, all), most(estimator, full)) << canonical(full);
      EXPECT_DOUBLE_EQ(estimator.time<double>(all).total().raw(), estimator.time<double>(full).total().raw());
    }
  }
}

TEST(RecomputeProperty, TracedEqualsDoubleBitForBit) {
  const auto bits = [](double v) { return std::bit_cast<std::uint64_t>(v); };
  for (const Question& q : questions()) {
    const Estimator estimator(q);
    for (const Schedule schedule : kSchedules) {
      for (const Recompute& recompute : recomputations()) {
        Plan p = pipeline(schedule);
        p.recompute = recompute;
        for (const int stage : {0, 7}) {
          EXPECT_EQ(bits(estimator.stage_memory<double>(p, stage).total().raw()),
                    bits(value_of(estimator.stage_memory<Traced>(p, stage).total())))
              << canonical(p);
        }
        EXPECT_EQ(bits(estimator.time<double>(p).total().raw()),
                  bits(value_of(estimator.time<Traced>(p).total())))
            << canonical(p);
      }
    }
  }
}

TEST(ScheduleProperty, ZeroBubbleKeepsWhatOneForwardOneBackwardKeeps) {
  const Question q = llama3_8b_question(4096, 64);
  const Estimator estimator(q);
  const double plain = most_activations(estimator, pipeline());
  EXPECT_DOUBLE_EQ(most_activations(estimator, pipeline(Schedule::kZbH1)), plain);
  for (int stage = 0; stage < 8; ++stage) {
    // Two half stages each, 2p of them alive, on every rank.
    EXPECT_DOUBLE_EQ(
        estimator.stage_memory<double>(pipeline(Schedule::kZbV), stage)[MemoryTerm::kActivations].raw(),
        plain);
    EXPECT_DOUBLE_EQ(
        estimator.stage_memory<double>(pipeline(Schedule::kDualPipe), stage)[MemoryTerm::kActivations].raw(),
        plain * 9 / 8);
  }
}

TEST(ScheduleProperty, SplittingTheBackwardPassNeverLengthensTheBubble) {
  for (const Question& q : questions()) {
    const Estimator estimator(q);
    const auto bubble = [&](Schedule schedule) {
      return estimator.time<double>(pipeline(schedule))[TimeTerm::kBubble].time.raw();
    };
    EXPECT_LT(bubble(Schedule::kZbH1), bubble(Schedule::k1F1B));
    EXPECT_LE(bubble(Schedule::kZbV), bubble(Schedule::kZbH1));
    EXPECT_LT(bubble(Schedule::kDualPipe), bubble(Schedule::k1F1B));
  }
}

TEST(ScheduleProperty, EdgesAreWhereTheyLand) {
  const Question q = llama3_8b_question(4096, 64);
  const Estimator estimator(q);
  const auto has_loss = [&](Schedule schedule, int stage) {
    return estimator.stage_memory<double>(pipeline(schedule), stage)[MemoryTerm::kLogits].raw() > 0;
  };
  EXPECT_TRUE(has_loss(Schedule::kZbH1, 7) && !has_loss(Schedule::kZbH1, 0));
  EXPECT_TRUE(has_loss(Schedule::kZbV, 0) && !has_loss(Schedule::kZbV, 7));
  EXPECT_TRUE(has_loss(Schedule::kDualPipe, 0) && has_loss(Schedule::kDualPipe, 7));
  const auto weights = [&](Schedule schedule) {
    double sum = 0;
    for (int s = 0; s < 8; ++s) {
      sum += estimator.stage_memory<double>(pipeline(schedule), s)[MemoryTerm::kWeights].raw();
    }
    return sum;
  };
  EXPECT_DOUBLE_EQ(weights(Schedule::kZbV), weights(Schedule::k1F1B));
  EXPECT_DOUBLE_EQ(weights(Schedule::kDualPipe), 2 * weights(Schedule::k1F1B));
}

}  // namespace
}  // namespace shardplan
