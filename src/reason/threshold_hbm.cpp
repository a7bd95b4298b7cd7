#include "reason/threshold_hbm.h"

#include <algorithm>
#include <cmath>

#include "reason/threshold_scan.h"
#include "units/format.h"

namespace shardplan {
namespace {

constexpr double kFar = 4;  // as far as is looked
/// How near halving comes before the plan that it found is held against what needs just less.
constexpr double kClose = 1 + 1e-4, kJustBelow = 1 - 1e-9;

double need(const Estimate& e) { return e.memory.total().raw(); }

}  // namespace

double hbm_of(const Cluster& cluster, Bytes<> usable) {
  return ((usable + cluster.reserve_fixed.value) / (ratio(1) - cluster.reserve_share.value)).raw();
}

Threshold hbm_that_fits(const Cluster& cluster, const NearestMiss& miss) {
  const double exact = hbm_of(cluster, miss.memory.total()), now = cluster.device.memory_reported.value.raw();
  Threshold found{"hbm", now, rounded_up(bytes(exact)).raw(), "bytes",
                  "a plan fits: " + canonical(miss.plan)};
  found.same_until = std::max(now, rounded_down(bytes(exact)).raw());
  return found;
}

HbmScan::HbmScan(const Estimator& base, const FixedAxes& fixed, const SearchResult& result,
                 SearchWatch* watch)
    : base_(base), fixed_(fixed), result_(result), watch_(watch), usable_(base.usable<double>().raw()) {
  if (stopped(watch)) return;
  for (const BoundedLayout& layout : bounded_layouts(base, fixed))
    (same_degrees(layout.layout, result.best->plan) ? same_ : others_).push_back(layout);
}

std::optional<Threshold> HbmScan::above() {
  const double most = usable_ * kFar;
  double fails = usable_;
  std::optional<Estimate> same = result_.best;
  while (const auto other = least(others_, most, fails, same)) {
    fails = need(*other);
    same = best(same_, fails);
    if (!same) return std::nullopt;  // stopped
    if (better(*other, *same)) return threshold(*other, true);
  }
  return std::nullopt;
}

std::optional<Threshold> HbmScan::below() {
  std::optional<Estimate> other = best(others_, usable_);
  while (const auto last = least(same_, usable_, usable_ / kFar, other)) {
    const double less = need(*last) * kJustBelow;
    if (less < usable_ / kFar) return std::nullopt;
    const auto same = best(same_, less);
    other = best(others_, less);
    if (!same || (other && better(*other, *same))) return threshold(*last, false);
  }
  return std::nullopt;
}

std::optional<Estimate> HbmScan::best(const Layouts& layouts, double usable,
                                      const std::optional<Estimate>& rival) const {
  if (stopped(watch_)) return std::nullopt;
  Question question = base_.question();
  // Rounding must not take away what a plan needs to the byte.
  question.cluster.device.memory_reported.value =
      bytes(hbm_of(question.cluster, bytes(usable)) * (1 + 1e-12));
  SearchOptions options{.runners_up = 0, .watch = watch_};
  if (rival) options.slowest = slowest_as_fast_as(*rival);
  auto found = search(Estimator(question), fixed_, layouts, options).best;
  if (!found) return std::nullopt;
  found->usable = bytes(usable_);  // of all plans the same: what is free orders those that are as fast
  if (rival && !better(*found, *rival)) return std::nullopt;
  return found;
}

std::optional<Estimate> HbmScan::least(const Layouts& layouts, double usable, double fails,
                                       const std::optional<Estimate>& rival) const {
  auto found = best(layouts, usable, rival);
  while (found && need(*found) > fails) {
    const double less = need(*found) * kJustBelow, middle = std::sqrt(need(*found) * fails);
    const bool close = need(*found) < fails * kClose;
    const auto next = best(layouts, close ? less : std::min(middle, less), rival);
    if (next) {
      found = next;
    } else if (close) {
      break;
    } else {
      fails = middle;
    }
  }
  return found;
}

std::optional<Estimate> HbmScan::best_with(double hbm) const {
  const Cluster& cluster = base_.question().cluster;
  const double usable =
      hbm * (ratio(1) - cluster.reserve_share.value).raw() - cluster.reserve_fixed.value.raw();
  const auto same = best(same_, usable), other = best(others_, usable, same);
  return other ? other : same;
}

bool HbmScan::differs(const std::optional<Estimate>& there) const {
  return !there || !same_degrees(there->plan, result_.best->plan);
}

std::optional<Threshold> HbmScan::threshold(const Estimate& turns, bool up) const {
  const Cluster& cluster = base_.question().cluster;
  const double now = cluster.device.memory_reported.value.raw(),
               exact = hbm_of(cluster, turns.memory.total()), above = rounded_up(bytes(exact)).raw(),
               below = rounded_down(bytes(exact)).raw();
  double same = up ? std::max(now, below) : std::min(now, above), other = up ? above : below;
  auto there = best_with(other);
  if (!differs(there) || differs(best_with(same))) {  // it changes back within the hundredth
    other = exact * (up ? 2 - kJustBelow : kJustBelow);
    same = exact * (up ? kJustBelow : 2 - kJustBelow);
    there = best_with(other);
  }
  if (stopped(watch_)) return std::nullopt;
  Threshold found{"hbm", now, other, "bytes",
                  there ? gives_way(result_.best->plan, there->plan) : "nothing fits any more"};
  found.same_until = same;
  return found;
}

}  // namespace shardplan
