// Where a condition turns, by halving.
//
//   bisect(1e9, 100e9, [&](double b) { return hides(b); })   // least b that hides, to five digits
//
// Private to reason/. Not here: what is asked at each value.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>

namespace shardplan {

/// Where `holds` turns from false (at `no`) to true (at `yes`), to five digits: the value on the side of
/// `yes`. Nothing when it does not turn between them.
inline std::optional<double> bisect(double no, double yes, const std::function<bool(double)>& holds) {
  constexpr double kDigits = 1e-5;
  if (holds(no) || !holds(yes)) return std::nullopt;
  while (std::fabs(yes - no) > kDigits * std::fabs(yes)) {
    const double middle = 0.5 * (no + yes);
    (holds(middle) ? yes : no) = middle;
  }
  return yes;
}

/// The same over whole numbers: the smallest or largest that holds.
inline std::optional<std::int64_t> bisect_integer(std::int64_t no, std::int64_t yes,
                                                  const std::function<bool(std::int64_t)>& holds) {
  if (holds(no) || !holds(yes)) return std::nullopt;
  while (std::llabs(yes - no) > 1) {
    const std::int64_t middle = no + (yes - no) / 2;
    (holds(middle) ? yes : no) = middle;
  }
  return yes;
}

/// How far from what there is a bandwidth is sought: what needs more is not to be had, what holds at so
/// little does not use the link.
inline constexpr double kMostFactor = 1024, kLeastFactor = 1.0 / (1LL << 40);

/// From where on `holds` does; nothing where it does nowhere or everywhere. It is taken to turn once.
inline std::optional<double> least_factor(const std::function<bool(double)>& holds) {
  constexpr double kStep = 2, kDigits = 1e-9;
  double yes = 1, no = 1;
  if (holds(1)) {
    do {
      yes = no;
      no /= kStep;
    } while (no >= kLeastFactor && holds(no));
    if (no < kLeastFactor) return std::nullopt;
  } else {
    do {
      no = yes;
      yes *= kStep;
    } while (yes <= kMostFactor && !holds(yes));
    if (yes > kMostFactor) return std::nullopt;
  }
  while (yes - no > kDigits * yes) {
    const double middle = (yes + no) / 2;
    (holds(middle) ? yes : no) = middle;
  }
  return yes;
}

}  // namespace shardplan
