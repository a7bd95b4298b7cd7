#include "search/search.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <thread>

#include "search/layout_judge.h"

namespace shardplan {
namespace {

void add(Census& sum, const Census& part) {
  sum.considered += part.considered;
  sum.slower += part.slower;
  sum.larger += part.larger;
  sum.alike += part.alike;
  sum.feasible += part.feasible;
  for (std::size_t i = 0; i < sum.rejected.size(); ++i) sum.rejected[i] += part.rejected[i];
  if (part.nearest_miss) keep_nearer(sum.nearest_miss, *part.nearest_miss);
  if (part.nearest_host) keep_smaller(sum.nearest_host, *part.nearest_host);
}

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// Layouts that are searched before what was found excludes others: few at first, when little is excluded.
/// What is searched depends on them and not on the threads.
constexpr std::size_t kFirstWave = 8, kWave = 64;

std::size_t threads_for(std::size_t items, unsigned wanted) {
  constexpr std::size_t kItemsWorthAThread = 4;
  const unsigned most = wanted > 0 ? wanted : std::max(1U, std::thread::hardware_concurrency());
  return std::clamp<std::size_t>(items / kItemsWorthAThread, 1, most);
}

/// Shares items[from, to) out to as many of the workers as are worth it: worker(item).
template <class Worker>
void share_out(std::vector<Worker>& workers, const std::vector<std::size_t>& items, std::size_t from,
               std::size_t to) {
  const std::size_t threads = threads_for(to - from, static_cast<unsigned>(workers.size()));
  std::atomic<std::size_t> next = from;
  const auto run = [&](Worker& worker) {
    for (std::size_t item = next++; item < to; item = next++) worker(items[item]);
  };
  std::vector<std::thread> others;
  others.reserve(threads - 1);
  for (std::size_t i = 1; i < threads; ++i) others.emplace_back(run, std::ref(workers[i]));
  run(workers.front());
  for (std::thread& thread : others) thread.join();
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
  double slowest() const { return best_.size() < wanted_ ? kNoLimit : best_.back().busy; }

 private:
  std::size_t wanted_;
  std::vector<Ranked> best_;
};

/// Numbers the degrees of the layouts; of each the first layout, and all others, in the order of their
/// bounds.
std::array<std::vector<std::size_t>, 2> number_degrees(const std::vector<BoundedLayout>& layouts,
                                                       Standing& standing) {
  std::array<std::vector<std::size_t>, 2> order;
  std::map<decltype(all_degrees(Plan{})), std::size_t> known;
  for (std::size_t i = 0; i < layouts.size() && !layouts[i].alike; ++i) {
    const auto [at, fresh] = known.try_emplace(all_degrees(layouts[i].layout), known.size());
    standing.degrees.push_back(at->second);
    order[fresh ? 0 : 1].push_back(i);
  }
  standing.reached.assign(known.size(), kNoLimit);
  return order;
}

/// Seconds a sequence that are wanted: no more than what a plan that is known reaches, where it fits.
double slowest_wanted(const Estimator& estimator, const SearchOptions& options) {
  if (!options.known) return options.slowest;
  const Outcome outcome = estimator.estimate(*options.known);
  const Estimate* known = std::get_if<Estimate>(&outcome);
  return known == nullptr ? options.slowest
                          : std::min(options.slowest, ranked(known->plan, known->time, {}).busy);
}

/// Layouts that differ in the order of their ranks alone follow one another: the first of each, those with
/// the same layers to compute together.
std::vector<std::vector<std::size_t>> by_layer(const std::vector<Plan>& layouts) {
  std::map<std::array<std::int32_t, 5>, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const Plan& p = layouts[i];
    if (i == 0 || !same_but_order(layouts[i - 1], p))
      groups[{p.tp, p.cp, p.ep, p.etp, p.sequence_parallel ? 1 : 0}].push_back(i);
  }
  std::vector<std::vector<std::size_t>> all;
  all.reserve(groups.size());
  for (auto& [layer, firsts] : groups) all.push_back(std::move(firsts));
  return all;
}

struct ToBound {
  const FixedAxes& fixed;
  double slowest = 0;  // seconds a sequence that are wanted
  std::vector<Plan> layouts;
  std::vector<char> alike;                       // of each
  std::vector<std::vector<std::size_t>> groups;  // by_layer
  const SearchWatch* watch = nullptr;            // what is left when it is stopped is not bounded
};

/// Bounds layouts, a group at a time. One for each thread.
struct alignas(kApart) LayoutBounds {
  LayoutBounds(const Estimator& estimator, const ToBound& what)
      : judge(std::make_unique<PlanEvaluator>(estimator)), all(&what) {}
  std::unique_ptr<PlanEvaluator> judge;
  const ToBound* all;
  std::vector<BoundedLayout> found;
  // Seconds a sequence of the layout's micro-batches without what groups send, the least first; scratch.
  std::vector<std::pair<double, std::size_t>> by_kernels;

  void operator()(std::size_t group) {
    for (const std::size_t first : all->groups[group]) {
      if (all->watch != nullptr && all->watch->stop) return;
      each_order(first);
    }
  }
  void each_order(std::size_t first) {
    const Space& space = judge->estimator().space();
    // The order of the ranks decides which states are legal and what groups send, and nothing else.
    LayoutPlans plans;
    by_kernels.clear();
    const std::vector<Plan>& layouts = all->layouts;
    for (std::size_t i = first; i < layouts.size() && same_but_order(layouts[first], layouts[i]); ++i) {
      const Plan& layout = layouts[i];
      if (plans.pipelines.empty()) {
        plans = space.plans_of(layout, all->fixed);
        for (const auto& pipelines : plans.pipelines) {
          const Plan& plan = pipelines.front().plan;
          by_kernels.emplace_back(judge->least_step_of_kernels(plan).raw() / sequences(plan),
                                  by_kernels.size());
        }
        std::sort(by_kernels.begin(), by_kernels.end());
      } else {
        plans.states = space.states_of(layout, all->fixed);
      }
      if (plans.pipelines.empty() || plans.states.empty()) continue;
      const bool others = all->alike[i] != 0;
      found.push_back({others ? kNoLimit : least_of(layout, plans), layout, plans.count(), others});
    }
  }
  /// Seconds a sequence.
  double least_of(const Plan& layout, const LayoutPlans& plans) {
    // What replicas send is worth asking for where there is something to compare with.
    const bool compares = all->slowest < kNoLimit;
    if (compares) judge->turn_to_layout(layout, plans.states);
    const auto wanted = [&](double least) { return least <= all->slowest * kRounding; };
    double least = kNoLimit;
    for (const auto& [kernels, m] : by_kernels) {
      if (kernels >= least) break;
      Plan plan = plans.pipelines[m].front().plan;
      plan.rank_order = layout.rank_order;
      const double all_sequences = sequences(plan);
      double own = kernels;
      if (wanted(own)) own = judge->least_step_of_micro_batch(plan).raw() / all_sequences;
      if (compares && own < least && wanted(own))
        own += judge->least_replicas_of_dealings(plan).raw() / all_sequences;
      least = std::min(least, own);
    }
    return least;
  }
};

void complete(const Estimator& estimator, const Ranking& ranking, SearchResult& result) {
  for (const Ranked& ranked : ranking.best()) {
    int stage = 0;
    const MemoryBreakdown<> memory = estimator.fullest_memory<double>(ranked.plan, stage);
    const Estimate estimate = estimator.complete(ranked.plan, memory, stage);
    if (!result.best) {
      result.best = estimate;
    } else {
      result.runners_up.push_back(estimate);
    }
  }
}

/// No plan is wanted that is slower than the last of as many as are asked for.
void lower(SearchOptions& options, const SearchResult& found) {
  if (!found.best || found.runners_up.size() < options.runners_up) return;
  const Estimate& last = found.runners_up.empty() ? *found.best : found.runners_up.back();
  options.slowest = std::min(options.slowest, slowest_as_fast_as(last));
}

Plan layout_of(const Plan& plan) {
  Plan layout = with_degrees({}, plan);
  layout.sequence_parallel = plan.sequence_parallel;
  layout.rank_order = plan.rank_order;
  return layout;
}

}  // namespace

bool better(const Estimate& a, const Estimate& b) {
  return better(ranked(a.plan, a.time, a.headroom()), ranked(b.plan, b.time, b.headroom()));
}

double slowest_as_fast_as(const Estimate& e) { return ranked(e.plan, e.time, {}).busy * kRounding; }

std::vector<BoundedLayout> bounded_layouts(const Estimator& estimator, const FixedAxes& fixed,
                                           const SearchOptions& options) {
  const Space& space = estimator.space();
  ToBound what{fixed, slowest_wanted(estimator, options), space.layouts(fixed), {}, {}, options.watch};
  what.alike = space.placed_as_earlier(what.layouts);
  what.groups = by_layer(what.layouts);
  std::vector<std::size_t> items(what.groups.size());
  std::iota(items.begin(), items.end(), 0);
  std::vector<LayoutBounds> parts;
  for (std::size_t i = threads_for(items.size(), options.threads); i > 0; --i)
    parts.emplace_back(estimator, what);
  share_out(parts, items, 0, items.size());
  std::vector<BoundedLayout> all;
  for (const LayoutBounds& part : parts) all.insert(all.end(), part.found.begin(), part.found.end());
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
  standing.slowest_wanted = slowest_wanted(estimator, options);
  SearchWatch* watch = options.watch;
  if (watch != nullptr) watch->layouts += static_cast<std::int64_t>(layouts.size());
  const auto exclude = [&](std::int64_t plans, std::int64_t& as) {
    result.census.considered += plans;
    as += plans;
  };
  std::vector<Judge> judges;
  for (std::size_t i = threads_for(layouts.size(), options.threads); i > 0; --i)
    judges.emplace_back(estimator, fixed, layouts, standing, watch);
  // Of each degrees the layout with the least bound, then the others.
  for (const std::vector<std::size_t>& order : number_degrees(layouts, standing)) {
    std::size_t at = 0;
    for (std::size_t wave = kFirstWave; at < order.size(); wave = std::min(2 * wave, kWave)) {
      if (watch != nullptr && watch->stop) break;
      // They are in the order of their bounds: those after one that is too slow are too.
      std::size_t end = at;
      while (end < std::min(at + wave, order.size()) &&
             layouts[order[end]].per_sequence <= standing.slowest_wanted * kRounding)
        ++end;
      if (end == at) break;
      share_out(judges, order, at, end);
      at = end;
      for (Judge& judge : judges) {
        for (const auto& [layout, leader] : judge.leaders) {
          ranking.add(leader);
          double& reached = standing.reached[standing.degrees[layout]];
          reached = std::min(reached, leader.busy);
        }
        judge.leaders.clear();
        if (judge.census.nearest_miss) keep_nearer(standing.nearest, *judge.census.nearest_miss);
      }
      standing.fits = standing.fits || !ranking.best().empty();
      standing.slowest_wanted = std::min(standing.slowest_wanted, ranking.slowest());
    }
    for (; at < order.size() && (watch == nullptr || !watch->stop); ++at)
      exclude(layouts[order[at]].plans, result.census.slower);
  }
  result.stopped = watch != nullptr && watch->stop;
  for (const Judge& judge : judges) add(result.census, judge.census);
  for (const BoundedLayout& layout : layouts)
    if (layout.alike && !result.stopped) exclude(layout.plans, result.census.alike);
  complete(estimator, ranking, result);
  return result;
}

SearchResult search(const Estimator& estimator, const FixedAxes& fixed, const SearchOptions& options) {
  SearchOptions own = options;
  own.slowest = slowest_wanted(estimator, options);
  std::int64_t bounded = 0;
  if (estimator.question().whole_space && own.slowest == kNoLimit) {
    // What the usual plans reach excludes most of the others from the start.
    Question usual = estimator.question();
    usual.whole_space = false;
    SearchResult found = search(Estimator(usual), fixed, options);
    if (found.stopped) return found;
    bounded = found.bounded;
    lower(own, found);
    // More so what their layouts reach with all that the engine can do.
    std::vector<BoundedLayout> same;
    if (found.best) same.push_back({0, layout_of(found.best->plan)});
    for (const Estimate& other : found.runners_up) same.push_back({0, layout_of(other.plan)});
    found = search(estimator, fixed, same, own);
    if (found.stopped) return found;
    lower(own, found);
  }
  const std::vector<BoundedLayout> layouts = bounded_layouts(estimator, fixed, own);
  SearchResult found = search(estimator, fixed, layouts, own);
  found.bounded = bounded + static_cast<std::int64_t>(layouts.size());
  return found;
}

}  // namespace shardplan
