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

/// What one thread writes is on no line of the cache that another reads: two lines are fetched at once.
inline constexpr std::size_t kApart = 128;

/// Counts what fails and keeps the best plan of each layout. One for each thread.
class alignas(kApart) Judge {
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

  /// The plans of a layout, by index.
  void operator()(std::size_t at);

 private:
  /// What a micro-batch's layers run again, all of the model's alike.
  struct Again {
    Recompute recompute;
    Seconds<> least;             // of a step
    std::vector<double> layers;  // PlanEvaluator::least_layers; empty until it is asked for
    std::vector<double> held;    // PlanEvaluator::held_by_layers; the same
    bool fits = false;           // some dealing of the pipeline in work may
  };
  /// A micro-batch of the layout in work.
  struct MicroBatch {
    const std::vector<Pipeline>* pipelines = nullptr;
    Seconds<> least;           // of a step, nothing run again
    Seconds<> replicas;        // what their traffic adds at the least, however layers are dealt
    std::vector<Again> again;  // what takes least first
    Again whole;               // whole layers
    Again kept;                // none, where some could be
    Seconds<> layer_again;     // of one layer that is run again
    Seconds<> head;            // of a micro-batch beside the layers, on the last rank
  };
  /// What the bounds of a pipeline leave to be looked at.
  struct Left {
    std::vector<Again*> again;
    bool parts = false, groups = false;  // some layers run again; several with one input
    double layers_again = 0;             // of all, that parts have to run again at the least
    Seconds<> sends;                     // of stages, at the least
    Seconds<> beside;                    // them and what replicas add, at the least
    bool none() const { return again.empty() && !parts && !groups; }
  };

  bool too_slow(const Plan& plan, Seconds<> least, Seconds<> replicas = seconds(0)) const;
  double fastest() const;
  bool too_large(Bytes<> least) const;
  bool one_fits() const { return leader_ || standing_->fits; }

  void each_micro_batch(const Plan& layout);
  void seek_near(const LayoutPlans& plans);
  void bound_micro_batches(const LayoutPlans& plans);
  void turn_recomputes(const LayoutPlans& plans, MicroBatch& of);
  void turn_pipeline(const LayoutPlans& plans, MicroBatch& of, const Pipeline& pipeline, std::size_t from,
                     std::size_t to);
  bool none_deals(const Pipeline& pipeline, const Recompute& recompute);
  void mark_fitting(std::vector<Again>& again, std::size_t count, const Pipeline& pipeline);
  bool no_groups_deal(const Pipeline& pipeline, std::int32_t most);
  Seconds<> least_of_parts(const MicroBatch& of, const Pipeline& pipeline);
  void first_dealing(const LayoutPlans& plans, MicroBatch& of, const Pipeline& pipeline);
  void other_dealings(const LayoutPlans& plans, MicroBatch& of, const Pipeline& pipeline);
  Seconds<> least_of_ranks(const MicroBatch& of, Plan plan, const Dealing& dealing, Again& again);
  const std::vector<double>& layers_of(Again& again, Plan plan);
  Again& least_left(MicroBatch& of);
  void each_dealing(const LayoutPlans& plans, MicroBatch& of, const Pipeline& pipeline,
                    const Dealing& dealing);
  void each_group(const LayoutPlans& plans, MicroBatch& of, Plan plan, const Dealing& dealing);
  void each_part(const LayoutPlans& plans, const MicroBatch& of, Plan plan, const Dealing& dealing);
  void each_state(const LayoutPlans& plans, const Plan& plan, Seconds<> least);
  void consider(const Plan& plan);

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
  std::vector<MicroBatch> micro_batches_;  // not all are the layout's
  std::vector<MicroBatch*> by_bound_;      // those that are, what could be fastest first
  Left left_;
  std::vector<Again*> unmarked_;
};

}  // namespace shardplan
