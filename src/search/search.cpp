#include "search/search.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <thread>

#include "estimate/plan_evaluator.h"

namespace shardplan {
namespace {

double sequences(const Plan& p) { return static_cast<double>(p.dp) * p.micro_batch * p.grad_accumulation; }

/// What orders plans.
struct Ranked {
  Plan plan;
  double per_sequence = 0;  // seconds
  double busy = 0;          // of them, not spent waiting for the batch to be read
  Bytes<> headroom;
  double traffic = 0;  // seconds of the step that communication is felt
};

Ranked ranked(const Plan& plan, const TimeBreakdown<>& time, Bytes<> headroom) {
  const double step = time.total().raw(), waits = time[TimeTerm::kLoading].exposed().raw();
  const double pace = waits > 0 ? time[TimeTerm::kLoading].time.raw() : step;
  double traffic = 0;
  for (const TimeTerm term :
       {TimeTerm::kTensor, TimeTerm::kContext, TimeTerm::kExpert, TimeTerm::kData, TimeTerm::kPipelineSends})
    traffic += time[term].exposed().raw();
  return {plan, pace / sequences(plan), (step - waits) / sequences(plan), headroom, traffic};
}

bool better(const Ranked& a, const Ranked& b) {
  if (a.per_sequence != b.per_sequence) return a.per_sequence < b.per_sequence;
  // Where reading the batch sets the pace, all that keep up with it take as long.
  if (a.busy != b.busy) return a.busy < b.busy;
  if (!(a.headroom == b.headroom)) return a.headroom > b.headroom;
  if (a.traffic != b.traffic) return a.traffic < b.traffic;
  return a.plan < b.plan;
}

/// The nearest miss of two: whichever thread saw it first.
void keep_nearer(std::optional<NearestMiss>& nearest, const NearestMiss& other) {
  const bool nearer = !nearest || other.shortfall < nearest->shortfall ||
                      (other.shortfall == nearest->shortfall && other.plan < nearest->plan);
  if (nearer) nearest = other;
}

void keep_smaller(std::optional<HostMiss>& nearest, const HostMiss& other) {
  if (!nearest || other.need < nearest->need || (other.need == nearest->need && other.plan < nearest->plan))
    nearest = other;
}

void add(Census& sum, const Census& part) {
  sum.considered += part.considered;
  sum.slower += part.slower;
  sum.larger += part.larger;
  sum.feasible += part.feasible;
  for (std::size_t i = 0; i < sum.rejected.size(); ++i) sum.rejected[i] += part.rejected[i];
  if (part.nearest_miss) keep_nearer(sum.nearest_miss, *part.nearest_miss);
  if (part.nearest_host) keep_smaller(sum.nearest_host, *part.nearest_host);
}

/// Layouts that are searched before what was found excludes others: few at first, when little is excluded.
/// What is searched depends on them and not on the threads.
constexpr std::size_t kFirstWave = 8, kWave = 64;

std::size_t threads_for(std::size_t items, unsigned wanted) {
  constexpr std::size_t kItemsWorthAThread = 4;
  const unsigned most = wanted > 0 ? wanted : std::max(1U, std::thread::hardware_concurrency());
  return std::clamp<std::size_t>(items / kItemsWorthAThread, 1, most);
}

/// Shares items [from, to) out to as many of the workers as are worth it: worker(item).
template <class Worker>
void share_out(std::vector<Worker>& workers, std::size_t from, std::size_t to) {
  const std::size_t threads = threads_for(to - from, static_cast<unsigned>(workers.size()));
  std::atomic<std::size_t> next = from;
  const auto run = [&](Worker& worker) {
    for (std::size_t item = next++; item < to; item = next++) worker(item);
  };
  std::vector<std::thread> others;
  others.reserve(threads - 1);
  for (std::size_t i = 1; i < threads; ++i) others.emplace_back(run, std::ref(workers[i]));
  run(workers.front());
  for (std::thread& thread : others) thread.join();
}

/// Sums in another order differ in their last digits: a bound has to be that much above to exclude.
constexpr double kRounding = 1e-9;

/// What the layouts that were searched leave to be found in the others.
struct Standing {
  double slowest_wanted = std::numeric_limits<double>::infinity();  // seconds a sequence
  bool fits = false;                                                // some plan does
  std::optional<NearestMiss> nearest;                               // as long as none does
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
  std::vector<Ranked> leaders;

  void operator()(std::size_t layout) {
    if (watch_ != nullptr && watch_->stop) return;
    const LayoutPlans plans = estimator_->space().plans_of((*layouts_)[layout].layout, *fixed_);
    census.considered += plans.count();
    leader_ = std::nullopt;
    nearest_ = standing_->nearest;
    judge_->turn_to_layout((*layouts_)[layout].layout, plans.states);
    if (!standing_->fits) seek_near(plans);
    // The micro-batches that could be fastest first: what they reach excludes the others.
    by_bound_.clear();
    for (const auto& pipelines : plans.pipelines)
      by_bound_.emplace_back(judge_->least_step_of_micro_batch(pipelines.front().plan), &pipelines);
    std::stable_sort(by_bound_.begin(), by_bound_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [least, pipelines] : by_bound_) {
      if (too_slow(pipelines->front().plan, least)) {
        census.slower += plans.count(*pipelines);
      } else {
        each_pipeline(plans, *pipelines);
      }
    }
    if (leader_) leaders.push_back(*leader_);
    if (nearest_) keep_nearer(census.nearest_miss, *nearest_);
    if (watch_ != nullptr) ++watch_->searched;
  }

 private:
  /// `least`: of the plan's stages, or of the whole step where `replicas` is none.
  bool too_slow(const Plan& plan, Seconds<> least, Seconds<> replicas = seconds(0)) const {
    const double own = leader_ ? leader_->busy : std::numeric_limits<double>::infinity();
    const double fastest = std::min(own, standing_->slowest_wanted);
    return (least + replicas).raw() > fastest * sequences(plan) * (1 + kRounding);
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
  void each_pipeline(const LayoutPlans& plans, const std::vector<Pipeline>& pipelines) {
    // What takes least is tried first: where it fits, the others are slower.
    by_time_.resize(plans.recomputes.size());
    Plan plan = pipelines.front().plan;
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
    for (const Pipeline& pipeline : pipelines) {
      const bool several = pipeline.dealings->all.size() > 1;
      if (several && plans.recomputes.size() > 1 && none_deals(pipeline, Recompute::kFull)) {
        census.larger += plans.count(pipeline);
        continue;
      }
      for (Again& again : by_time_) again.fits = several ? std::nullopt : std::optional(true);
      for (const Dealing& dealing : pipeline.dealings->all) each_dealing(plans, pipeline, dealing);
    }
  }
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
    // The two copies of a chunk of DualPipe share the micro-batches.
    const double copies = plan.schedule == Schedule::kDualPipe ? 2 : 1;
    const double fullest = of(ranks.fullest) * plan.grad_accumulation / copies;
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
      census.slower += (static_cast<std::int64_t>(by_time_.size()) + plans.most_in_part(dealing)) * states;
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
  }
  /// Plans that recompute some layers of each chunk: the more, the slower and the smaller.
  void each_part(const LayoutPlans& plans, Plan plan, const Dealing& dealing, const RankLayers& ranks,
                 Seconds<> replicas) {
    const auto states = static_cast<std::int64_t>(plans.states.size());
    const std::int32_t most = plans.most_in_part(dealing);
    const double copies = plan.schedule == Schedule::kDualPipe ? 2 : 1;
    const double kept = part_.layers[static_cast<std::size_t>(ranks.fullest)];
    std::int32_t last = 0;
    while (last < most) {
      const double again = part_.least.raw() * static_cast<double>(in_part(plan, dealing, last + 1));
      if (too_slow(plan, seconds((kept + again) * plan.grad_accumulation / copies), replicas)) break;
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
    const double beyond = least.raw() - usable_.raw() * (1 + kRounding);
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
  std::optional<NearestMiss> nearest_;
  // Scratch.
  std::vector<std::pair<Seconds<>, const std::vector<Pipeline>*>> by_bound_;
  std::vector<Again> by_time_;
  Again part_;  // of layers of which some are run again; least: of one that is
};

bool same_degrees(const Plan& a, const Plan& b) {
  return a.dp == b.dp && a.tp == b.tp && a.pp == b.pp && a.cp == b.cp && a.ep == b.ep && a.etp == b.etp;
}

/// The best plan of each of the best layouts, no more than are wanted.
class Ranking {
 public:
  explicit Ranking(std::size_t wanted) : wanted_(wanted) {}
  void add(const Ranked& found) {
    const auto same = std::find_if(best_.begin(), best_.end(),
                                   [&](const Ranked& known) { return same_degrees(known.plan, found.plan); });
    if (same == best_.end()) {
      best_.push_back(found);
    } else if (better(found, *same)) {
      *same = found;
    }
    std::sort(best_.begin(), best_.end(), [](const Ranked& a, const Ranked& b) { return better(a, b); });
    if (best_.size() > wanted_) best_.pop_back();
  }
  const std::vector<Ranked>& best() const { return best_; }
  /// Seconds a sequence, spent waiting for the batch or not, from which on no plan is wanted.
  double slowest() const {
    return best_.size() < wanted_ ? std::numeric_limits<double>::infinity() : best_.back().busy;
  }

 private:
  std::size_t wanted_;
  std::vector<Ranked> best_;
};

/// What a plan that is known to be legal reaches; infinite where it does not fit.
double reached(const Estimator& estimator, const std::optional<Plan>& known) {
  if (known) {
    const Outcome outcome = estimator.estimate(*known);
    if (const Estimate* e = std::get_if<Estimate>(&outcome)) return ranked(*known, e->time, {}).busy;
  }
  return std::numeric_limits<double>::infinity();
}

void complete(const Estimator& estimator, const Ranking& ranking, SearchResult& result) {
  for (const Ranked& ranked : ranking.best()) {
    int stage = 0;
    const MemoryBreakdown<> memory = estimator.fullest_memory<double>(ranked.plan, stage);
    Estimate estimate = estimator.complete(ranked.plan, memory, stage);
    if (!result.best) {
      result.best = std::move(estimate);
    } else {
      result.runners_up.push_back(std::move(estimate));
    }
  }
}

}  // namespace

bool better(const Estimate& a, const Estimate& b) {
  return better(ranked(a.plan, a.time, a.headroom()), ranked(b.plan, b.time, b.headroom()));
}

std::vector<BoundedLayout> bounded_layouts(const Estimator& estimator, const FixedAxes& fixed,
                                           unsigned threads) {
  const std::vector<Plan> layouts = estimator.space().layouts(fixed);
  struct Bounds {
    std::unique_ptr<PlanEvaluator> judge;
    std::vector<BoundedLayout> found;
    const Estimator* estimator;
    const FixedAxes* fixed;
    const std::vector<Plan>* layouts;

    void operator()(std::size_t layout) {
      double least = std::numeric_limits<double>::infinity();
      const LayoutPlans plans = estimator->space().plans_of((*layouts)[layout], *fixed);
      for (const auto& pipelines : plans.pipelines) {
        const Plan& plan = pipelines.front().plan;
        least = std::min(least, judge->least_step_of_micro_batch(plan).raw() / sequences(plan));
      }
      if (std::isfinite(least)) found.push_back({least, (*layouts)[layout], plans.count()});
    }
  };
  std::vector<Bounds> parts;
  for (std::size_t i = threads_for(layouts.size(), threads); i > 0; --i)
    parts.push_back({std::make_unique<PlanEvaluator>(estimator), {}, &estimator, &fixed, &layouts});
  share_out(parts, 0, layouts.size());
  std::vector<BoundedLayout> all;
  for (const Bounds& part : parts) all.insert(all.end(), part.found.begin(), part.found.end());
  std::sort(all.begin(), all.end(), [](const BoundedLayout& a, const BoundedLayout& b) {
    return a.per_sequence != b.per_sequence ? a.per_sequence < b.per_sequence : a.layout < b.layout;
  });
  return all;
}

SearchResult search(const Estimator& estimator, const FixedAxes& fixed,
                    const std::vector<BoundedLayout>& layouts, const SearchOptions& options) {
  SearchResult result;
  Ranking ranking(options.runners_up + 1);
  Standing standing;
  standing.slowest_wanted = std::min(options.slowest, reached(estimator, options.known));
  SearchWatch* watch = options.watch;
  if (watch != nullptr) watch->layouts += static_cast<std::int64_t>(layouts.size());
  std::vector<Judge> judges;
  for (std::size_t i = threads_for(layouts.size(), options.threads); i > 0; --i)
    judges.emplace_back(estimator, fixed, layouts, standing, watch);
  std::size_t at = 0;
  for (std::size_t wave = kFirstWave; at < layouts.size(); wave = std::min(2 * wave, kWave)) {
    if (watch != nullptr && watch->stop) break;
    // The layouts are in the order of their bounds: those after one that is too slow are too.
    std::size_t end = at;
    while (end < std::min(at + wave, layouts.size()) &&
           layouts[end].per_sequence <= standing.slowest_wanted * (1 + kRounding))
      ++end;
    if (end == at) break;
    share_out(judges, at, end);
    at = end;
    for (Judge& judge : judges) {
      for (const Ranked& leader : judge.leaders) ranking.add(leader);
      judge.leaders.clear();
      if (judge.census.nearest_miss) keep_nearer(standing.nearest, *judge.census.nearest_miss);
    }
    standing.fits = standing.fits || !ranking.best().empty();
    standing.slowest_wanted = std::min(standing.slowest_wanted, ranking.slowest());
  }
  result.stopped = watch != nullptr && watch->stop;
  for (const Judge& judge : judges) add(result.census, judge.census);
  for (; at < layouts.size() && !result.stopped; ++at) {
    result.census.considered += layouts[at].plans;
    result.census.slower += layouts[at].plans;
  }
  complete(estimator, ranking, result);
  return result;
}

SearchResult search(const Estimator& estimator, const FixedAxes& fixed, const SearchOptions& options) {
  return search(estimator, fixed, bounded_layouts(estimator, fixed, options.threads), options);
}

}  // namespace shardplan
