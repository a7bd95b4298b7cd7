#include "reason/nothing_fits.h"

#include <algorithm>
#include <cmath>

#include "reason/fitting_changes.h"
#include "reason/memory_answer.h"
#include "reason/sentence.h"

namespace shardplan {
namespace {

constexpr std::size_t kChanges = 3;
constexpr double kThousand = 1e3, kMillion = 1e6;
/// Bytes a parameter times parameters is the state but for rounding, where all of it is made so.
constexpr double kRounding = 1e-9;

struct Moved {
  MovableLimit limit;
  std::optional<FittingChange> change;
};

Sentence proof_by_state(const Estimator& estimator, const Floor& floor) {
  const double gpus = static_cast<double>(estimator.question().cluster.gpus);
  const Bytes<> each = estimator.bytes_per_parameter();
  const double parameters = estimator.parameters();
  Sentence s;
  if (std::fabs(each.raw() * parameters / floor.state.raw() - 1) < kRounding) {
    s << stated_count("bytes_per_parameter", each.raw(), "bytes") << " bytes x ";
    s << stated_count("parameters", parameters) << " parameters / ";
  } else {
    s << stated_gibibytes("state_total", floor.state) << " of state / ";
  }
  s << stated_counted("gpus", gpus, "GPU", "s", "GPUs") << " = "
    << stated_gibibytes("state_per_gpu", floor.state_per_gpu);
  return s << " > " << stated_gibibytes("usable", floor.usable) << " usable";
}

Sentence proof_by_search(const Estimator& estimator, const Census& census) {
  const NearestMiss& miss = *census.nearest_miss;
  const MemoryBreakdown<>& m = miss.memory;
  Sentence s("of ");
  s << stated_count("plans", census.considered)
    << " legal plans, " + canonical(miss.plan) + " keeps the least: ";
  s << stated_gibibytes("state", m.state()) << " of state + ";
  s << stated_gibibytes("activations", m[MemoryTerm::kActivations]) << " of activations";
  const Bytes<> logits = m[MemoryTerm::kLogits],
                buffers = m[MemoryTerm::kTransient] + m[MemoryTerm::kBuffers];
  if (logits > bytes(0)) s << " + " << stated_gibibytes("logits", logits) << " of logits";
  if (buffers > bytes(0)) s << " + " << stated_gibibytes("buffers", buffers) << " of working buffers";
  s << " = " << stated_gibibytes("total", m.total()) << " > ";
  return s << stated_gibibytes("usable", estimator.usable<double>()) << " usable";
}

Sentence proof_by_host(const Estimator& estimator, const Census& census) {
  const HostMiss& miss = *census.nearest_host;
  Sentence s("of the plans that fit the GPUs, " + canonical(miss.plan) +
             " keeps the least on a node's host: ");
  s << stated_gibibytes("host_need", miss.need) << " > ";
  return s << stated_gibibytes("host", estimator.question().cluster.host_memory->value) << " that it has";
}

/// Empty where no plan is legal.
Sentence proof(const Estimator& estimator, const Census& census) {
  const Floor floor = state_floor(estimator);
  if (!floor.feasible) return proof_by_state(estimator, floor);
  if (census.nearest_host) return proof_by_host(estimator, census);
  return census.nearest_miss ? proof_by_search(estimator, census) : Sentence();
}

/// What the plan after a change costs to run, whatever the change was.
void add_price(std::optional<UsdPerSecond<>> price, FittingChange& change) {
  const Seconds<> all = change.step * static_cast<double>(change.gpus);  // of all GPUs
  Sentence s("; ");
  s << stated("step", change.step) << " a step, ";
  s << stated("gpu_time", all * (kThousand / change.tokens)) << " of a GPU for "
    << stated_count("price_tokens", kThousand) << " tokens";
  if (price) s << ", " << stated("cost", *price * all * (kMillion / change.tokens)) << " for a million";
  change.price += s.words();
  change.figures.insert(change.figures.end(), s.figures().begin(), s.figures().end());
}

/// How far it moves; of what is no number, how long a token then takes all GPUs.
double size_of(const Moved& moved) {
  const FittingChange& change = *moved.change;
  if (change.from > 0) return std::fabs(std::log(change.to / change.from));
  return change.step.raw() * static_cast<double>(change.gpus) / change.tokens;
}

bool smaller(const Moved& a, const Moved& b) {
  if (a.limit.cost != b.limit.cost) return a.limit.cost < b.limit.cost;
  const bool amounts = a.change->from > 0;
  if (amounts != (b.change->from > 0)) return amounts;
  return size_of(a) < size_of(b);
}

/// Of those that are not enough alone, the ones that cannot be left out beside those that are. Each search is
/// without what was found not to be needed so far.
std::vector<Limit> irreducible(const AskedPlan& asked, const std::vector<Moved>& all, bool by_state,
                               SearchWatch* watch) {
  std::vector<Limit> found;
  std::vector<const MovableLimit*> others;
  for (const Moved& moved : all) {
    if (moved.change && moved.limit.limit.id != std::string("adapters")) found.push_back(moved.limit.limit);
    if (!moved.change && moved.limit.lift) others.push_back(&moved.limit);
  }
  if (by_state) return found;  // true of any plan, sequence and batch
  const auto fits_without = [&](const std::vector<const MovableLimit*>& lifted) {
    AskedPlan without = asked;
    for (const MovableLimit* limit : lifted) limit->lift(without);
    return best_of(without, watch).has_value();
  };
  if (others.empty() || !fits_without(others)) return found;
  std::vector<const MovableLimit*> lifted;
  for (const MovableLimit* limit : others) {
    lifted.push_back(limit);
    if (!fits_without(lifted)) continue;
    lifted.pop_back();
    found.push_back(limit->limit);
  }
  return found;
}

/// What is told of the plan and has to go together, where no part of it alone is enough: none of it can stay.
std::optional<Moved> told_together(const Estimator& estimator, const FixedAxes& fixed,
                                   const std::vector<Moved>& all, SearchWatch* watch) {
  const std::vector<ToldLimit> told = told_limits(fixed);
  const bool one_is_enough = std::any_of(all.begin(), all.end(), [](const Moved& moved) {
    return moved.change && moved.limit.cost == ChangeCost::kNothing;
  });
  if (told.size() < 2 || one_is_enough) return std::nullopt;
  const auto without = [&](const std::vector<const ToldLimit*>& gone) {
    AskedPlan other{estimator.question(), fixed};
    for (const ToldLimit* one : gone) one->free(other.fixed);
    other.question.fixed = other.fixed;
    return best_of(other, watch);
  };
  std::vector<const ToldLimit*> gone;
  gone.reserve(told.size());
  for (const ToldLimit& one : told) gone.push_back(&one);
  auto found = without(gone);
  if (!found) return std::nullopt;
  for (const ToldLimit& one : told) {
    std::vector<const ToldLimit*> fewer = gone;
    std::erase(fewer, &one);
    if (auto still = without(fewer)) {
      gone = std::move(fewer);
      found = still;
    }
  }
  std::string words;
  for (const ToldLimit* one : gone) {
    const std::string& said = one->limit.statement;
    words += (words.empty() ? "" : ", ") + said.substr(0, said.rfind(" is told"));
  }
  FittingChange change;
  change.id = "told";
  change.statement = words + " not told";
  change.price = "nothing to buy";
  change.plan = found->plan;
  change.step = found->step;
  change.gpus = estimator.question().cluster.gpus;
  change.tokens = static_cast<double>(found->plan.sequences() * estimator.question().workload.sequence);
  return Moved{MovableLimit{}, change};
}

}  // namespace

std::optional<NothingFits> nothing_fits(const Estimator& estimator, const FixedAxes& fixed,
                                        const SearchResult& result, std::optional<UsdPerSecond<>> price,
                                        SearchWatch* watch) {
  const Sentence why = proof(estimator, result.census);
  if (result.best || why.empty()) return std::nullopt;
  const bool by_state = !state_floor(estimator).feasible;
  std::vector<Moved> all;
  const std::vector<MovableLimit> limits = movable_limits(estimator, fixed, result, watch);
  WatchedItems items(watch, "changes", static_cast<std::int64_t>(limits.size()));
  for (const MovableLimit& limit : limits) {
    if (!items.next()) return std::nullopt;
    all.push_back({limit, by_state && !limit.of_state ? std::nullopt : limit.least()});
  }
  NothingFits found;
  found.proof = why.words();
  found.figures = why.figures();
  found.limits = irreducible({estimator.question(), fixed}, all, by_state, watch);
  if (!by_state) {
    if (auto together = told_together(estimator, fixed, all, watch)) all.push_back(std::move(*together));
  }
  if (stopped(watch)) return std::nullopt;
  std::erase_if(all, [](const Moved& moved) { return !moved.change; });
  std::stable_sort(all.begin(), all.end(), smaller);
  for (Moved& moved : all) {
    if (found.changes.size() == kChanges) break;
    add_price(price, *moved.change);
    found.changes.push_back(std::move(*moved.change));
  }
  return found;
}

}  // namespace shardplan
