// The plans of one layout of a search: counted, bounded, worked out, and the best of them kept. Private to
// search/; search.cpp says which layouts, in which order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "estimate/plan_evaluator.h"
#include "search/search.h"

namespace shardplan {

inline double sequences(const Plan& p) { return static_cast<double>(p.sequences()); }

/// What orders plans.
struct Ranked {
  Plan plan;
  double per_sequence = 0;  // seconds
  double busy = 0;          // of them, not spent waiting for the batch to be read
  Bytes<> headroom;
  double traffic = 0;  // seconds of the step that communication is felt
};

inline Ranked ranked(const Plan& plan, const TimeBreakdown<>& time, Bytes<> headroom) {
  const double step = time.total().raw(), waits = time[TimeTerm::kLoading].exposed().raw();
  const double pace = waits > 0 ? time[TimeTerm::kLoading].time.raw() : step;
  double traffic = 0;
  for (const TimeTerm term :
       {TimeTerm::kTensor, TimeTerm::kContext, TimeTerm::kExpert, TimeTerm::kData, TimeTerm::kPipelineSends})
    traffic += time[term].exposed().raw();
  return {plan, pace / sequences(plan), (step - waits) / sequences(plan), headroom, traffic};
}

inline bool better(const Ranked& a, const Ranked& b) {
  if (a.per_sequence != b.per_sequence) return a.per_sequence < b.per_sequence;
  // Where reading the batch sets the pace, all that keep up with it take as long.
  if (a.busy != b.busy) return a.busy < b.busy;
  if (!(a.headroom == b.headroom)) return a.headroom > b.headroom;
  if (a.traffic != b.traffic) return a.traffic < b.traffic;
  return a.plan < b.plan;
}

/// The nearest miss of two: whichever thread saw it first.
inline void keep_nearer(std::optional<NearestMiss>& nearest, const NearestMiss& other) {
  const bool nearer = !nearest || other.shortfall < nearest->shortfall ||
                      (other.shortfall == nearest->shortfall && other.plan < nearest->plan);
  if (nearer) nearest = other;
}

inline void keep_smaller(std::optional<HostMiss>& nearest, const HostMiss& other) {
  if (!nearest || other.need < nearest->need || (other.need == nearest->need && other.plan < nearest->plan))
    nearest = other;
}

/// What the layouts that were searched leave to be found in the others.
struct Standing {
  double slowest_wanted = std::numeric_limits<double>::infinity();  // seconds a sequence
  bool fits = false;                                                // some plan does
  // Of layouts of the same degrees the best plan alone is wanted.
  std::vector<std::size_t> degrees;    // those of each layout, numbered
  std::vector<double> reached;         // seconds a sequence, with each
  std::optional<NearestMiss> nearest;  // as long as none does
};

/// Counts what fails and keeps the best plan of each layout. One for each thread.
class Judge {
 public:
  Judge(const Estimator& estimator, const FixedAxes& fixed, const std::vector<BoundedLayout>& layouts,
        const Standing& standing, SearchWatch* watch)
      : estimator_(&estimator),
        fixed_(&fixed),
        layouts_(&layouts),
        standing_(&standing),
        watch_(watch),
        judge_(std::make_unique<PlanEvaluator>(estimator)),
        usable_(estimator.usable<double>()) {}
  Census census;
  std::vector<std::pair<std::size_t, Ranked>> leaders;  // of layouts, by index

  void operator()(std::size_t at) {
    if (watch_ != nullptr && watch_->stop) return;
    const BoundedLayout& layout = (*layouts_)[at];
    leader_ = std::nullopt;
    nearest_ = standing_->nearest;
    known_ = standing_->reached[standing_->degrees[at]];
    census.considered += layout.plans;
    if (layout.per_sequence > fastest() * kRounding) {
      census.slower += layout.plans;
    } else {
      each_micro_batch(layout.layout);
    }
    if (leader_) leaders.emplace_back(at, *leader_);
    if (nearest_) keep_nearer(census.nearest_miss, *nearest_);
    if (watch_ != nullptr) ++watch_->searched;
  }

 private:
  /// `least`: of the plan's stages, or of the whole step where `replicas` is none.
  bool too_slow(const Plan& plan, Seconds<> least, Seconds<> replicas = seconds(0)) const {
    return (least + replicas).raw() > fastest() * sequences(plan) * kRounding;
  }
  /// Seconds a sequence: what takes longer is not wanted.
  double fastest() const {
    const double own = leader_ ? std::min(leader_->busy, known_) : known_;
    return std::min(own, standing_->slowest_wanted);
  }
  void each_micro_batch(const Plan& layout) {
    const LayoutPlans plans = estimator_->space().plans_of(layout, *fixed_);
    judge_->turn_to_layout(layout, plans.states);
    if (!standing_->fits) seek_near(plans);
    // The micro-batches that could be fastest first: what they reach excludes the others.
    by_bound_.clear();
    for (const auto& pipelines : plans.pipelines)
      by_bound_.emplace_back(judge_->least_step_of_micro_batch(pipelines.front().plan), &pipelines);
    std::stable_sort(by_bound_.begin(), by_bound_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    // And of each pipeline the plainest dealing: what it reaches excludes most of the others.
    for (auto& [least, pipelines] : by_bound_) {
      if (too_slow(pipelines->front().plan, least)) {
        census.slower += plans.count(*pipelines);
        pipelines = nullptr;
      } else {
        turn_recomputes(plans, pipelines->front().plan);
        for (const Pipeline& pipeline : *pipelines) first_dealing(plans, pipeline);
      }
    }
    for (const auto& [least, pipelines] : by_bound_) {
      if (pipelines == nullptr || !has_others(*pipelines)) continue;
      if (too_slow(pipelines->front().plan, least)) {
        for (const Pipeline& pipeline : *pipelines) census.slower += plans.count(pipeline, 1);
      } else {
        turn_recomputes(plans, pipelines->front().plan);
        for (const Pipeline& pipeline : *pipelines) other_dealings(plans, pipeline);
      }
    }
  }
  static bool has_others(const std::vector<Pipeline>& pipelines) {
    return std::any_of(pipelines.begin(), pipelines.end(),
                       [](const Pipeline& pipeline) { return pipeline.dealings->all.size() > 1; });
  }
  /// How near the plans come that keep little: farther ones need not be looked at where none fits.
  void seek_near(const LayoutPlans& plans) {
    const Pipeline& pipeline = plans.pipelines.front().front();
    Plan plan = dealt(pipeline.plan, pipeline.dealings->all.front());
    plan.recompute = plans.recomputes.size() > 1 ? Recompute::kFull : plans.recomputes.front();
    for (std::size_t i = 0; i < plans.states.size(); ++i) {
      if (too_large(judge_->least_memory(plan, i))) continue;
      int stage = 0;
      const Plan whole = with_state(plan, plans.states[i]);
      const MemoryBreakdown<> memory = judge_->fullest_memory(whole, stage);
      if (const auto broken = Estimator::broken_memory(memory, usable_))
        keep_nearer(nearest_, {whole, memory, stage, *broken, memory.total() - usable_});
    }
  }
  /// A recomputation of the micro-batch in work.
  struct Again {
    Recompute recompute;
    Seconds<> least;             // of a step
    std::vector<double> layers;  // PlanEvaluator::least_layers; empty until it is asked for
    std::optional<bool> fits;    // with some dealing of the pipeline's layers; none until it is asked for
  };
  /// What the micro-batch's layers take with each recomputation. What takes least is tried first: where it
  /// fits, the others are slower.
  void turn_recomputes(const LayoutPlans& plans, Plan plan) {
    by_time_.resize(plans.recomputes.size());
    for (std::size_t i = 0; i < by_time_.size(); ++i) {
      plan.recompute = by_time_[i].recompute = plans.recomputes[i];
      by_time_[i].least = judge_->least_step_of_layers(plan);
      by_time_[i].layers.clear();
    }
    std::stable_sort(by_time_.begin(), by_time_.end(),
                     [](const Again& a, const Again& b) { return a.least < b.least; });
    part_.recompute = plan.recompute = Recompute::block(1);
    part_.least = judge_->least_recompute(plan);
    judge_->least_layers(plan, part_.layers);
  }
  void first_dealing(const LayoutPlans& plans, const Pipeline& pipeline) {
    for (Again& again : by_time_) again.fits = true;
    each_dealing(plans, pipeline, pipeline.dealings->all.front());
  }
  void other_dealings(const LayoutPlans& plans, const Pipeline& pipeline) {
    // Those with smaller largest chunks come first: from one that is too slow by its largest chunk alone on,
    // all are.
    const std::vector<Dealing>& all = pipeline.dealings->all;
    const std::vector<double>& layers = layers_of(by_time_.front(), pipeline.plan);
    const double passes = pipeline.plan.grad_accumulation / copies(pipeline.plan);
    const auto second = all.begin() + 1;
    const auto end = std::partition_point(second, all.end(), [&](const Dealing& dealing) {
      const double largest = layers[static_cast<std::size_t>(dealing.largest)];
      return !too_slow(pipeline.plan, seconds(largest * passes));
    });
    const std::int64_t slower = plans.count(pipeline, static_cast<std::size_t>(end - all.begin()));
    census.slower += slower;
    if (end == second) return;
    if (plans.recomputes.size() > 1 && none_deals(pipeline, plans.smallest(pipeline))) {
      census.larger += plans.count(pipeline, 1) - slower;
      return;
    }
    for (Again& again : by_time_) again.fits = std::nullopt;
    for (auto dealing = second; dealing != end; ++dealing) each_dealing(plans, pipeline, *dealing);
  }
  /// The two copies of a chunk of DualPipe share the micro-batches.
  static double copies(const Plan& plan) { return plan.schedule == Schedule::kDualPipe ? 2 : 1; }
  /// Whether no dealing of the pipeline's layers fits, with any state.
  bool none_deals(const Pipeline& pipeline, const Recompute& recompute) {
    Plan plan = pipeline.plan;
    plan.recompute = recompute;
    return too_large(judge_->least_memory_of_dealings(plan));
  }
  /// No step is shorter than a rank's own work, or than the last one's and what is before and after it.
  Seconds<> least_of_ranks(const Plan& plan, const RankLayers& ranks,
                           const std::vector<double>& layers) const {
    const auto of = [&](std::int64_t n) { return layers[static_cast<std::size_t>(n)]; };
    const double fullest = of(ranks.fullest) * plan.grad_accumulation / copies(plan);
    const bool in_turn =
        plan.pp > 1 && (plan.schedule == Schedule::k1F1B || plan.schedule == Schedule::kGpipe ||
                        plan.schedule == Schedule::kInterleaved);
    if (!in_turn) return seconds(fullest);
    return seconds(std::max(fullest, of(ranks.last) * plan.grad_accumulation + of(ranks.before)));
  }
  const std::vector<double>& layers_of(Again& again, Plan plan) {
    plan.recompute = again.recompute;
    if (again.layers.empty()) judge_->least_layers(plan, again.layers);
    return again.layers;
  }
  void each_dealing(const LayoutPlans& plans, const Pipeline& pipeline, const Dealing& dealing) {
    const auto states = static_cast<std::int64_t>(plans.states.size());
    Plan plan = dealt(pipeline.plan, dealing);
    const RankLayers ranks = rank_layers(plan, dealing);
    if (too_slow(plan, least_of_ranks(plan, ranks, layers_of(by_time_.front(), plan)))) {
      census.slower += (static_cast<std::int64_t>(by_time_.size()) + plans.by_layers(dealing)) * states;
      return;
    }
    const Seconds<> replicas = judge_->least_replicas(plan);
    for (Again& again : by_time_) {
      plan.recompute = again.recompute;
      if (too_slow(plan, again.least, replicas) ||
          too_slow(plan, least_of_ranks(plan, ranks, layers_of(again, plan)), replicas)) {
        census.slower += states;
        continue;
      }
      if (!again.fits) again.fits = !none_deals(pipeline, again.recompute);
      if (!*again.fits || too_large(judge_->least_memory_of_layers(plan))) {
        census.larger += states;
      } else {
        each_state(plans, plan, replicas);
      }
    }
    each_part(plans, plan, dealing, ranks, replicas);
    each_group(plans, plan, dealing, replicas);
  }
  /// Plans that run all layers again and keep one input for several: as slow as one that keeps each.
  void each_group(const LayoutPlans& plans, Plan plan, const Dealing& dealing, Seconds<> replicas) {
    const std::int32_t most = plans.most_in_group(dealing);
    if (most == 1) return;
    plan.recompute = Recompute::kFull;
    if (too_slow(plan, judge_->least_step(plan), replicas)) {
      census.slower += (most - 1) * static_cast<std::int64_t>(plans.states.size());
      return;
    }
    for (std::int32_t n = 2; n <= most; ++n) {
      plan.recompute = Recompute::uniform(n);
      each_state(plans, plan, replicas);
    }
  }
  /// Plans that recompute some layers of each chunk: the more, the slower and the smaller.
  void each_part(const LayoutPlans& plans, Plan plan, const Dealing& dealing, const RankLayers& ranks,
                 Seconds<> replicas) {
    const auto states = static_cast<std::int64_t>(plans.states.size());
    const std::int32_t most = plans.most_in_part(dealing);
    const double kept = part_.layers[static_cast<std::size_t>(ranks.fullest)];
    std::int32_t last = 0;
    while (last < most) {
      const double again = part_.least.raw() * static_cast<double>(in_part(plan, dealing, last + 1));
      if (too_slow(plan, seconds((kept + again) * plan.grad_accumulation / copies(plan)), replicas)) break;
      ++last;
    }
    census.slower += (most - last) * states;
    const auto excluded = [&](std::int32_t n) {
      plan.recompute = Recompute::block(n);
      return too_large(judge_->least_memory_of_part(plan));
    };
    if (last == 0) return;
    std::int32_t small = 0, fits = last;  // small is excluded or 0, fits is not excluded
    if (excluded(last)) {
      small = last;
    } else {
      while (fits - small > 1) {
        const std::int32_t middle = (small + fits) / 2;
        (excluded(middle) ? small : fits) = middle;
      }
    }
    census.larger += small * states;
    for (std::int32_t n = small + 1; n <= last; ++n) {
      plan.recompute = Recompute::block(n);
      if (too_slow(plan, judge_->least_step(plan), replicas)) {
        census.slower += (last - n + 1) * states;
        break;
      }
      each_state(plans, plan, replicas);
    }
  }
  /// Layers of the fullest rank that are run again where the first n of each chunk are.
  static std::int64_t in_part(const Plan& plan, const Dealing& dealing, std::int64_t n) {
    if (plan.schedule == Schedule::kZbV || plan.schedule == Schedule::kDualPipe) return 0;
    return (plan.interleave - 1) * std::min<std::int64_t>(n, dealing.between) +
           std::min<std::int64_t>(n, dealing.largest);
  }
  void each_state(const LayoutPlans& plans, const Plan& plan, Seconds<> replicas) {
    const auto all = static_cast<std::int64_t>(plans.states.size());
    if (too_slow(plan, judge_->least_step(plan), replicas)) {
      census.slower += all;
      return;
    }
    if (too_large(judge_->least_memory(plan))) {
      census.larger += all;
      return;
    }
    for (std::size_t i = 0; i < plans.states.size(); ++i) {
      if (too_large(judge_->least_memory(plan, i))) {
        ++census.larger;
      } else if (too_slow(plan, judge_->least_step(plan, i))) {
        ++census.slower;
      } else {
        consider(with_state(plan, plans.states[i]));
      }
    }
  }
  /// As long as nothing fits, not where it may be the nearest miss.
  bool too_large(Bytes<> least) const {
    const double beyond = least.raw() - usable_.raw() * kRounding;
    if (beyond <= 0) return false;
    return leader_ || standing_->fits || (nearest_ && beyond > nearest_->shortfall.raw());
  }
  void consider(const Plan& plan) {
    int stage = 0;
    const MemoryBreakdown<> memory = judge_->fullest_memory(plan, stage);
    if (const auto broken = estimator_->broken_memory(plan, memory, usable_)) {
      ++census.rejected[static_cast<std::size_t>(*broken)];
      if (*broken == Constraint::kHostMemory) {
        // It is not the device that misses.
        keep_smaller(census.nearest_host, {plan, estimator_->host_need(plan)});
        return;
      }
      const Bytes<> shortfall = memory.total() - usable_;
      if (!nearest_ || !(nearest_->shortfall < shortfall))
        keep_nearer(nearest_, {plan, memory, stage, *broken, shortfall});
      return;
    }
    ++census.feasible;
    const Ranked found = ranked(plan, judge_->time(plan), usable_ - memory.total());
    if (!leader_ || better(found, *leader_)) leader_ = found;
  }

  const Estimator* estimator_;
  const FixedAxes* fixed_;
  const std::vector<BoundedLayout>* layouts_;
  const Standing* standing_;
  SearchWatch* watch_;
  std::unique_ptr<PlanEvaluator> judge_;
  Bytes<> usable_;
  // Of the layout in work: what is excluded does not depend on what other threads have found.
  std::optional<Ranked> leader_;
  double known_ = 0;  // what a plan of the same degrees has reached
  std::optional<NearestMiss> nearest_;
  // Scratch.
  std::vector<std::pair<Seconds<>, const std::vector<Pipeline>*>> by_bound_;
  std::vector<Again> by_time_;
  Again part_;  // of layers of which some are run again; least: of one that is
};

}  // namespace shardplan
