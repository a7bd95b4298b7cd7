// Numbers with units in a sentence: what a reader cites.
//
//   cited_quantities("968.6 GiB over 64 GPUs is 15.1 GiB each")
//     // {1.040e12, "bytes"}, {64, "GPUs"}, {1.621e10, "bytes"}
//
// A bare number is not a quantity. Not here: whether the number is right (drill_rubric.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shardplan {

struct CitedQuantity {
  double value = 0;  // SI
  std::string unit;  // as Figure: "bytes", "s", "bytes/s", "FLOP/s", "tokens", "GPUs", "ratio"
};

std::vector<CitedQuantity> cited_quantities(std::string_view text);

}  // namespace shardplan
