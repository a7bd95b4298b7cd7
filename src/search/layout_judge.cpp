#include "search/layout_judge.h"

#include <algorithm>
#include <functional>

namespace shardplan {
namespace {

/// The two copies of a chunk of DualPipe share the micro-batches.
double copies(const Plan& plan) { return plan.schedule == Schedule::kDualPipe ? 2 : 1; }

/// Micro-batches that a rank takes one after the other.
double passes(const Plan& plan) { return plan.grad_accumulation / copies(plan); }

/// What holds no more than the recomputation, however the layers of a chunk are: some of them run again hold
/// no less than all, which is what the bounds of whole pipelines speak for.
Recompute holding_least(const Recompute& recompute) {
  return recompute.kind == Recompute::Kind::kBlock ? Recompute::kFull : recompute;
}

bool in_groups(const Recompute& recompute) {
  return recompute.kind == Recompute::Kind::kUniform && recompute.layers > 1;
}

bool has_others(const std::vector<Pipeline>& pipelines) {
  return std::any_of(pipelines.begin(), pipelines.end(),
                     [](const Pipeline& pipeline) { return pipeline.dealings->all.size() > 1; });
}

/// Layers of a rank that are run again where the first n of each chunk are. Beside chunks of the middle it
/// has one of so many layers.
std::int64_t in_part(const Plan& plan, const Dealing& dealing, std::int64_t beside, std::int64_t n) {
  if (plan.schedule == Schedule::kZbV || plan.schedule == Schedule::kDualPipe) return 0;
  return (plan.interleave - 1) * std::min<std::int64_t>(n, dealing.between) + std::min(n, beside);
}

/// Layers that are run again where the first n of each chunk are, at the most.
double in_all_parts(const Plan& plan, const Dealing& dealing, std::int64_t n) {
  const std::int64_t chunks = all_chunks(plan);
  if (dealing.even()) return static_cast<double>(chunks * n);
  const std::int64_t between = (chunks - 2) * std::min<std::int64_t>(n, dealing.between);
  return static_cast<double>(between + std::min<std::int64_t>(n, dealing.first) +
                             std::min<std::int64_t>(n, dealing.last));
}

}  // namespace

void Judge::operator()(std::size_t at) {
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

/// `least`: of the plan's stages, or of the whole step where `replicas` is none.
bool Judge::too_slow(const Plan& plan, Seconds<> least, Seconds<> replicas) const {
  return (least + replicas).raw() > fastest() * sequences(plan) * kRounding;
}

/// Seconds a sequence: what takes longer is not wanted.
double Judge::fastest() const {
  const double own = leader_ ? std::min(leader_->busy, known_) : known_;
  return std::min(own, standing_->slowest_wanted);
}

/// As long as nothing fits, not where it may be the nearest miss.
bool Judge::too_large(Bytes<> least) const {
  const double beyond = least.raw() - usable_.raw() * kRounding;
  if (beyond <= 0) return false;
  return one_fits() || (nearest_ && beyond > nearest_->shortfall.raw());
}

/// Of every pipeline of every micro-batch the plainest dealing first: what it reaches excludes most of the
/// others.
void Judge::each_micro_batch(const Plan& layout) {
  const LayoutPlans plans = estimator_->space().plans_of(layout, *fixed_);
  judge_->turn_to_layout(layout, plans.states);
  if (!standing_->fits) seek_near(plans);
  bound_micro_batches(plans);
  const auto slow = [&](const MicroBatch& of) {
    return too_slow(of.pipelines->front().plan, of.least, of.replicas);
  };
  for (MicroBatch* of : by_bound_) {
    if (slow(*of)) {
      census.slower += plans.count(*of->pipelines);
      of->pipelines = nullptr;
    } else {
      of->replicas = judge_->least_replicas_of_dealings(of->pipelines->front().plan);
      turn_recomputes(plans, *of);
      for (const Pipeline& pipeline : *of->pipelines) first_dealing(plans, *of, pipeline);
    }
  }
  for (MicroBatch* of : by_bound_) {
    if (of->pipelines == nullptr || !has_others(*of->pipelines)) continue;
    if (slow(*of)) {
      for (const Pipeline& pipeline : *of->pipelines) census.slower += plans.count(pipeline, 1);
    } else {
      for (const Pipeline& pipeline : *of->pipelines) other_dealings(plans, *of, pipeline);
    }
  }
}

/// How near the plans come that keep little: farther ones need not be looked at where none fits.
void Judge::seek_near(const LayoutPlans& plans) {
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

/// The micro-batches that could be fastest first: what they reach excludes the others.
void Judge::bound_micro_batches(const LayoutPlans& plans) {
  if (micro_batches_.size() < plans.pipelines.size()) micro_batches_.resize(plans.pipelines.size());
  by_bound_.clear();
  for (const auto& pipelines : plans.pipelines) {
    MicroBatch& own = micro_batches_[by_bound_.size()];
    own.pipelines = &pipelines;
    own.least = judge_->least_step_of_micro_batch(pipelines.front().plan);
    own.replicas = seconds(0);
    by_bound_.push_back(&own);
  }
  std::stable_sort(by_bound_.begin(), by_bound_.end(),
                   [](const MicroBatch* a, const MicroBatch* b) { return a->least < b->least; });
}

/// What the micro-batch's layers take with each recomputation. What takes least is tried first: where it
/// fits, the others are slower.
void Judge::turn_recomputes(const LayoutPlans& plans, MicroBatch& of) {
  Plan plan = of.pipelines->front().plan;
  const auto turn = [&](Again& again, const Recompute& recompute) {
    plan.recompute = again.recompute = recompute;
    again.least = judge_->least_step_of_layers(plan);
    again.layers.clear();
    again.held.clear();
  };
  of.again.resize(plans.recomputes.size());
  for (std::size_t i = 0; i < of.again.size(); ++i) turn(of.again[i], plans.recomputes[i]);
  std::stable_sort(of.again.begin(), of.again.end(),
                   [](const Again& a, const Again& b) { return a.least < b.least; });
  turn(of.whole, Recompute::kFull);
  turn(of.kept, Recompute::block(1));
  of.layer_again = judge_->least_recompute(plan);
  of.head = judge_->least_head(plan);
}

/// What is left of the pipeline's dealings [from, to); counts the others.
void Judge::turn_pipeline(const LayoutPlans& plans, MicroBatch& of, const Pipeline& pipeline,
                          std::size_t from, std::size_t to) {
  const auto states = static_cast<std::int64_t>(plans.states.size());
  const auto ways = static_cast<std::int64_t>(to - from);
  const auto& largest_from = pipeline.dealings->largest_from;
  const std::int64_t by_layer = (largest_from[from] - largest_from[to] - ways) * states;
  const double turns = PlanEvaluator::least_turns(pipeline.plan);
  left_.again.clear();
  left_.parts = left_.groups = false;
  left_.sends = judge_->least_sends(pipeline.plan);
  left_.beside = of.replicas + left_.sends;
  // What runs all layers again, one by one, keeps least of all that have no groups; which are in the list
  // where one was told, alone.
  const bool too_large = !in_groups(plans.recomputes.front()) && none_deals(pipeline, Recompute::kFull);
  const auto slower = std::find_if(of.again.begin(), of.again.end(), [&](const Again& again) {
    return too_slow(pipeline.plan, again.least * turns, left_.beside);
  });
  census.slower += (of.again.end() - slower) * ways * states;
  const auto count = static_cast<std::size_t>(slower - of.again.begin());
  if (!too_large) mark_fitting(of.again, count, pipeline);
  for (std::size_t i = 0; i < count; ++i) {
    if (too_large || !of.again[i].fits) {
      census.larger += ways * states;
    } else {
      left_.again.push_back(&of.again[i]);
    }
  }
  if (plans.layers_in_part) {
    if (too_large) {
      census.larger += by_layer;
    } else if (too_slow(pipeline.plan, least_of_parts(of, pipeline) * turns, left_.beside)) {
      census.slower += by_layer;
    } else {
      left_.parts = true;
    }
  }
  if (plans.layers_in_groups) {
    if (too_slow(pipeline.plan, of.whole.least * turns, left_.beside)) {
      census.slower += by_layer;
    } else if (no_groups_deal(pipeline, plans.most_in_group(pipeline.dealings->all.back()))) {
      census.larger += by_layer;
    } else {
      left_.groups = true;
    }
  }
}

/// Whether no dealing of the pipeline's layers fits, with any state.
bool Judge::none_deals(const Pipeline& pipeline, const Recompute& recompute) {
  Plan plan = pipeline.plan;
  plan.recompute = holding_least(recompute);
  return too_large(judge_->least_memory_of_dealings(plan, 1));
}

/// Which of the first so many may fit. What holds no less than one that does not fit does not either, what
/// holds no more than one that may fit may too: few are asked.
void Judge::mark_fitting(std::vector<Again>& again, std::size_t count, const Pipeline& pipeline) {
  unmarked_.clear();
  Plan plan = pipeline.plan;
  for (std::size_t i = 0; i < count; ++i) {
    unmarked_.push_back(&again[i]);
    plan.recompute = holding_least(again[i].recompute);
    if (again[i].held.empty()) judge_->held_by_layers(plan, again[i].held);
  }
  const auto holds_no_more = [](const Again& a, const Again& b) {
    return std::equal(a.held.begin(), a.held.end(), b.held.begin(), std::less_equal<>());
  };
  while (!unmarked_.empty()) {
    const Again& asked = *unmarked_[unmarked_.size() / 2];
    const bool fits = !none_deals(pipeline, asked.recompute);
    std::erase_if(unmarked_, [&](Again* other) {
      const bool alike = fits ? holds_no_more(*other, asked) : holds_no_more(asked, *other);
      if (alike) other->fits = fits;
      return alike;
    });
  }
}

/// Nor with any of 2 to `most` layers run again at once: the more, the fewer inputs are kept, and the more is
/// there at once.
bool Judge::no_groups_deal(const Pipeline& pipeline, std::int32_t most) {
  Plan plan = pipeline.plan;
  for (std::int32_t least = 2, largest = 2; least <= most; least = largest + 1, largest *= 2) {
    plan.recompute = Recompute::uniform(std::min(largest, most));
    if (!too_large(judge_->least_memory_of_dealings(plan, least))) return false;
  }
  return true;
}

/// A step of plans that run some layers again: no fewer than for one of them to fit.
Seconds<> Judge::least_of_parts(const MicroBatch& of, const Pipeline& pipeline) {
  Plan plan = pipeline.plan;
  plan.recompute = Recompute::kNone;
  left_.layers_again = one_fits() ? judge_->least_layers_again(plan, usable_) : 0;
  return of.least + of.layer_again * (left_.layers_again * plan.grad_accumulation / plan.pp);
}

void Judge::first_dealing(const LayoutPlans& plans, MicroBatch& of, const Pipeline& pipeline) {
  turn_pipeline(plans, of, pipeline, 0, 1);
  if (!left_.none()) each_dealing(plans, of, pipeline, pipeline.dealings->all.front());
}

void Judge::other_dealings(const LayoutPlans& plans, MicroBatch& of, const Pipeline& pipeline) {
  // Those with smaller largest chunks come first: from one that is too slow by its largest chunk alone on,
  // all are.
  const std::vector<Dealing>& all = pipeline.dealings->all;
  turn_pipeline(plans, of, pipeline, 1, all.size());
  if (left_.none()) return;
  const std::vector<double>& layers = layers_of(least_left(of), pipeline.plan);
  const auto second = all.begin() + 1;
  const auto end = std::partition_point(second, all.end(), [&](const Dealing& dealing) {
    const double largest = layers[static_cast<std::size_t>(dealing.largest)];
    return !too_slow(pipeline.plan, seconds(largest * passes(pipeline.plan)), left_.beside);
  });
  const auto slower = static_cast<std::int64_t>(all.end() - end);
  const std::int64_t by_layer =
      pipeline.dealings->largest_from[static_cast<std::size_t>(end - all.begin())] - slower;
  census.slower += (slower * static_cast<std::int64_t>(left_.again.size()) +
                    by_layer * ((left_.parts ? 1 : 0) + (left_.groups ? 1 : 0))) *
                   static_cast<std::int64_t>(plans.states.size());
  for (auto dealing = second; dealing != end; ++dealing) each_dealing(plans, of, pipeline, *dealing);
}

const std::vector<double>& Judge::layers_of(Again& again, Plan plan) {
  plan.recompute = again.recompute;
  if (again.layers.empty()) judge_->least_layers(plan, again.layers);
  return again.layers;
}

/// What takes least of what is left.
Judge::Again& Judge::least_left(MicroBatch& of) {
  if (left_.parts) return of.kept;
  return left_.again.empty() ? of.whole : *left_.again.front();
}

/// A step is no shorter than the fullest rank's own work, nor than the path through the last rank or the one
/// before it (cost/pipeline_path.h), with all layers taken for those that take least. The last chunk has the
/// head too; what sends take is felt on every stage beside its work, and not part of it.
Seconds<> Judge::least_of_ranks(const MicroBatch& of_batch, Plan plan, const Dealing& dealing, Again& again) {
  const RankLayers ranks = rank_layers(plan, dealing);
  const std::vector<double>& layers = layers_of(again, plan);
  const auto of = [&](std::int64_t n) { return layers[static_cast<std::size_t>(n)]; };
  const double m = plan.grad_accumulation, p = plan.pp;
  const double head = of_batch.head.raw(), last = of(ranks.last) + head,
               fullest = std::max(of(ranks.fullest), last);
  double least = fullest * passes(plan);
  const bool gpipe = plan.schedule == Schedule::kGpipe, interleaved = plan.schedule == Schedule::kInterleaved;
  if (plan.pp == 1 || (!gpipe && !interleaved && plan.schedule != Schedule::k1F1B)) return seconds(least);
  const double all = again.least.raw() * p / m;  // one micro-batch on all stages
  if (gpipe) return seconds(all + (m - 1) * fullest);
  least = std::max(least, last * m + of(ranks.before));
  if (plan.pp < 3 || plan.grad_accumulation <= plan.pp) return seconds(least);
  // The last but one has chunks of the middle only. Before its first backward pass it runs 3 of its last
  // chunk, after p of each other; 2 where it has one.
  const double one = of(dealing.between);
  const double own =
      interleaved ? (m - p) * of(plan.interleave * dealing.between) + (p - 3) * one : (m - 2) * one;
  return seconds(std::max(least, all + of(dealing.even() ? dealing.between : dealing.last) + head + own));
}

void Judge::each_dealing(const LayoutPlans& plans, MicroBatch& of, const Pipeline& pipeline,
                         const Dealing& dealing) {
  const auto states = static_cast<std::int64_t>(plans.states.size());
  Plan plan = dealt(pipeline.plan, dealing);
  if (too_slow(plan, least_of_ranks(of, plan, dealing, least_left(of)), left_.beside)) {
    const std::int64_t by_layer = (left_.parts ? plans.most_in_part(dealing) : 0) +
                                  (left_.groups ? plans.most_in_group(dealing) - 1 : 0);
    census.slower += (static_cast<std::int64_t>(left_.again.size()) + by_layer) * states;
    return;
  }
  for (Again* again : left_.again) {
    plan.recompute = again->recompute;
    const Seconds<> least = std::max(again->least, least_of_ranks(of, plan, dealing, *again));
    if (too_slow(plan, least, left_.beside)) {
      census.slower += states;
    } else if (too_large(plan.recompute.kind == Recompute::Kind::kBlock
                             ? judge_->least_memory_of_part(plan)
                             : judge_->least_memory_of_layers(plan, again->held))) {
      census.larger += states;
    } else {
      each_state(plans, plan, least + left_.sends);
    }
  }
  if (left_.parts) each_part(plans, of, plan, dealing);
  if (left_.groups) each_group(plans, of, plan, dealing);
}

/// Plans that run all layers again and keep one input for several: as slow as one that keeps each.
void Judge::each_group(const LayoutPlans& plans, MicroBatch& of, Plan plan, const Dealing& dealing) {
  const std::int32_t most = plans.most_in_group(dealing);
  if (most == 1) return;
  plan.recompute = Recompute::kFull;
  const Seconds<> least = least_of_ranks(of, plan, dealing, of.whole) + left_.sends;
  if (too_slow(plan, least, of.replicas)) {
    census.slower += (most - 1) * static_cast<std::int64_t>(plans.states.size());
    return;
  }
  for (std::int32_t n = 2; n <= most; ++n) {
    plan.recompute = Recompute::uniform(n);
    each_state(plans, plan, least);
  }
}

/// Plans that recompute some layers of each chunk: the more, the slower and the smaller.
void Judge::each_part(const LayoutPlans& plans, const MicroBatch& of, Plan plan, const Dealing& dealing) {
  const auto states = static_cast<std::int64_t>(plans.states.size());
  const std::int32_t most = plans.most_in_part(dealing);
  // No more than these are too small a part, whatever they hold.
  std::int32_t small = 0;
  while (small < most && in_all_parts(plan, dealing, small + 1) * kRounding < left_.layers_again) ++small;
  const RankLayers ranks = rank_layers(plan, dealing);
  const auto kept = [&](std::int64_t layers) { return of.kept.layers[static_cast<std::size_t>(layers)]; };
  const std::int64_t last_chunk = dealing.even() ? dealing.between : dealing.last;
  const double on_fullest = kept(ranks.fullest), on_last = kept(ranks.last) + of.head.raw();
  const auto slow = [&](std::int32_t n) {
    const auto again = [&](std::int64_t layers) {
      return of.layer_again.raw() * static_cast<double>(layers);
    };
    const double least = std::max(on_fullest + again(in_part(plan, dealing, ranks.beside, n)),
                                  on_last + again(in_part(plan, dealing, last_chunk, n)));
    return too_slow(plan, seconds(least * passes(plan)), left_.beside);
  };
  const auto excluded = [&](std::int32_t n) {
    plan.recompute = Recompute::block(n);
    return too_large(judge_->least_memory_of_part(plan));
  };
  std::int32_t last = small;
  while (last < most && !slow(last + 1)) ++last;
  census.slower += (most - last) * states;
  census.larger += small * states;
  if (last == small) return;
  if (excluded(last)) {
    census.larger += (last - small) * states;
    return;
  }
  std::int32_t out = small, fits = last + 1;  // `out` is excluded or too few, `fits` is not excluded
  while (fits - out > 1) {
    const std::int32_t middle = (out + fits) / 2;
    (excluded(middle) ? out : fits) = middle;
  }
  census.larger += (out - small) * states;
  for (std::int32_t n = out + 1; n <= last; ++n) {
    plan.recompute = Recompute::block(n);
    const Seconds<> step = judge_->least_step(plan);
    if (too_slow(plan, step, of.replicas)) {
      census.slower += (last - n + 1) * states;
      break;
    }
    each_state(plans, plan, step);
  }
}

/// `least` of their step without what replicas add.
void Judge::each_state(const LayoutPlans& plans, const Plan& plan, Seconds<> least) {
  const auto all = static_cast<std::int64_t>(plans.states.size());
  const Seconds<> replicas = judge_->least_replicas(plan);
  if (too_slow(plan, least, replicas) || too_slow(plan, judge_->least_step(plan), replicas)) {
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

void Judge::consider(const Plan& plan) {
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

}  // namespace shardplan
