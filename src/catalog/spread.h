// How far off a constant may be, as the note of its source says: what a fit writes beside each of its values.
//
//   spread_of(source)->low(200)   // 162 where the note is "+- 21 %, jackknife over sources 17 %"
//
// The larger of the two uncertainties is taken: of the posterior, and of leaving out whole sources. A
// constant that the fitted rows do not determine has its prior's. Not here: what a change of it does
// (reason/sensitivity.h).
#pragma once

#include <optional>
#include <string>

#include "catalog/source.h"

namespace shardplan {

struct Spread {
  double size = 0;
  bool of_logarithm = false;  // as of positive constants; else absolute, as of shares
  double low(double value) const;
  double high(double value) const;
};

/// "+- 1.8 %" of a logarithm, "+- 0.02"; one digit more than two is no better known.
std::string spread_words(const Spread& spread);

/// Nothing where the note says none.
std::optional<Spread> spread_of(const Source& source);

}  // namespace shardplan
