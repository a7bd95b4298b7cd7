#include "reason/threshold_hbm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "reason/threshold_scan.h"

namespace shardplan {
namespace {

/// Factors from the current value that are tried before the bisection.
constexpr std::array kFactors{1.25, 1.5, 2.0, 4.0};
constexpr double kClose = 1.01;  // how near the bisection comes
constexpr double kJustBelow = 1e-9;
constexpr int kStepsMax = 64;

}  // namespace

double hbm_of(const Cluster& cluster, Bytes<> usable) {
  return ((usable + cluster.reserve_fixed.value) / (ratio(1) - cluster.reserve_share.value)).raw();
}

HbmScan::HbmScan(const Estimator& base, const FixedAxes& fixed, const Estimate& best, SearchWatch* watch)
    : base_(base), fixed_(fixed), best_(best), watch_(watch) {
  found_.push_back(best);
  if (!stopped(watch)) layouts_ = bounded_layouts(base, fixed);
}

std::optional<Threshold> HbmScan::below() {
  const double fits = best_.memory.total().raw();
  double same = fits, other = 0;
  for (const double factor : kFactors) {
    if (differs(at(fits / factor))) {
      other = fits / factor;
      break;
    }
    same = fits / factor;
  }
  if (other == 0) return std::nullopt;
  bisect(same, other);
  const std::optional<Estimate> from = same == fits ? best_ : at(same);
  if (!from) return std::nullopt;
  Estimate last = *from;
  for (int step = 0; step < kStepsMax; ++step) {
    const auto next = at(last.memory.total().raw() * (1 - kJustBelow));
    if (differs(next))
      return threshold(
          last, next ? "below it " + gives_way(best_.plan, next->plan) : "below it nothing fits any more");
    last = *next;
  }
  return std::nullopt;
}

std::optional<Threshold> HbmScan::above() {
  const double usable = base_.usable<double>().raw();
  double same = usable, other = 0;
  for (const double factor : kFactors) {
    if (differs(at(usable * factor))) {
      other = usable * factor;
      break;
    }
    same = usable * factor;
  }
  if (other == 0) return std::nullopt;
  bisect(same, other);
  const std::optional<Estimate> from = at(other);
  if (!from) return std::nullopt;
  Estimate first = *from;
  for (int step = 0; step < kStepsMax; ++step) {
    const auto less = at(first.memory.total().raw() * (1 - kJustBelow));
    if (!differs(less)) return threshold(first, gives_way(best_.plan, first.plan));
    first = *less;
  }
  return std::nullopt;
}

/// The best plan where so much is usable.
std::optional<Estimate> HbmScan::at(double usable) {
  if (stopped(watch_)) return std::nullopt;
  Question question = base_.question();
  const Cluster& cluster = question.cluster;
  // Rounding must not take away what a plan needs to the byte.
  question.cluster.device.memory_reported.value = bytes(hbm_of(cluster, bytes(usable)) * (1 + 1e-12));
  const Estimator estimator(question);
  auto found = fastest(estimator, fixed_, layouts_, known_at(question, bytes(usable)), watch_).best;
  if (found) found_.push_back(*found);
  return found;
}

/// What is compared with first: of the plans found so far the best that fits, else the best usual one.
std::optional<Plan> HbmScan::known_at(const Question& question, Bytes<> usable) const {
  const Estimate* known = nullptr;
  for (const Estimate& e : found_)
    if (e.memory.total() <= usable && (known == nullptr || better(e, *known))) known = &e;
  if (known != nullptr || !question.whole_space) return known == nullptr ? best_.plan : known->plan;
  Question usual = question;
  usual.whole_space = false;
  const SearchResult found = fastest(Estimator(usual), fixed_, std::nullopt, watch_);
  return found.best ? std::optional(found.best->plan) : std::nullopt;
}

bool HbmScan::differs(const std::optional<Estimate>& found) const {
  return !found || !same_degrees(found->plan, best_.plan);
}

void HbmScan::bisect(double& same, double& other) {
  while (std::max(same, other) / std::min(same, other) > kClose) {
    const double middle = std::sqrt(same * other);
    (differs(at(middle)) ? other : same) = middle;
  }
}

Threshold HbmScan::threshold(const Estimate& at, std::string then) const {
  const Cluster& cluster = base_.question().cluster;
  return {"hbm", cluster.device.memory_reported.value.raw(), hbm_of(cluster, at.memory.total()), "bytes",
          std::move(then)};
}

}  // namespace shardplan
