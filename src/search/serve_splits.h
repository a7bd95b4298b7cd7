// How a replica can be cut: the legal splits of a model on a cluster, in a fixed order.
//
//   const SplitRules rules(question);
//   rules.broken({.tensor = 3});       // "tensor parallelism 3 does not divide 96 heads", nearest 4
//   rules.all()                        // every legal split of at most all GPUs, each once
//
// Not here: what fits and what a split is worth (serve_search.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "catalog/serving.h"

namespace shardplan {

struct BrokenSplit {
  const char* flag;      // "--tp"
  std::string message;   // "tensor parallelism 3 does not divide 96 heads"
  std::string expected;  // "a divisor of 96"
  std::int64_t nearest;  // degree that is legal, all else as told
};

class SplitRules {
 public:
  explicit SplitRules(const ServeQuestion& question);

  std::optional<BrokenSplit> broken(const ServeSplit& split) const;
  /// Those that agree with the degrees that the question tells.
  std::vector<ServeSplit> all() const;
  /// Whether experts must be whole on a GPU: their widths, or blocks of them, cannot be cut.
  bool whole_experts(const ServeSplit& split) const;

 private:
  std::optional<BrokenSplit> first_broken(const ServeSplit& split) const;
  std::optional<std::string> uncut(std::int64_t tensor) const;

  const ServeQuestion& question_;
  std::int64_t layers_ = 0, experts_ = 0;
  std::vector<std::int64_t> heads_, kv_heads_, widths_, expert_widths_;
};

}  // namespace shardplan
