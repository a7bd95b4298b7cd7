// Where one input of a question changes its answer.
//
//   ThresholdScan scan(estimator, fixed, result);
//   scan.find(input, true);    // {"sequence", 4096, 10240, "tokens", "dp64 gives way to ..."}, upwards
//
// Plans that were the best somewhere say where one of them overtakes the others; a search there and one just
// before it confirm that no other plan does earlier, or find one that does, which is then among them. Counts
// of GPUs, which no plan is carried over to, are searched one by one. Not here: memory (threshold_hbm.h).
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "reason/answer.h"
#include "reason/threshold_inputs.h"

namespace shardplan {

class ThresholdScan {
 public:
  ThresholdScan(const Estimator& base, const FixedAxes& fixed, const SearchResult& result,
                SearchWatch* watch);

  /// The nearest change upwards (or downwards), within a factor of 4.
  std::optional<Threshold> find(const ThresholdInput& input, bool up);

 private:
  struct Sides {
    double same = 0, other = 0;
  };
  using Searched = std::map<double, std::optional<SearchResult>>;
  std::optional<Threshold> find_whole(const ThresholdInput& input, bool up);
  const std::optional<SearchResult>& at(const ThresholdInput& input, double value, Searched& searched);
  std::optional<double> nearest_other(const ThresholdInput& input, const Searched& searched) const;
  double last_same(const ThresholdInput& input, const Searched& searched, double other) const;
  std::optional<double> next_value(const ThresholdInput& input, const Searched& searched, Sides sides,
                                   bool up) const;
  std::optional<double> widest_gap(const ThresholdInput& input, const Searched& searched, double other) const;
  std::optional<Threshold> find_layout(const ThresholdInput& input, bool up);
  double first_tried(const ThresholdInput& input, bool up) const;
  std::optional<Threshold> find_fitting(const ThresholdInput& input, bool up);
  std::optional<Question> question_at(const ThresholdInput& input, double value) const;
  /// The best of the plans that are known.
  std::optional<Estimate> best_known(const Estimator& estimator) const;
  /// Among known plans, no further than a factor of `most`.
  std::optional<Sides> nearest_flip(const ThresholdInput& input, double most, bool up) const;
  std::optional<Sides> narrowed(const ThresholdInput& input, Sides sides) const;
  std::optional<SearchResult> search_at(const ThresholdInput& input, double value);
  /// Whether it holds a plan that was not known.
  bool learn(const SearchResult& found);
  bool differs(const std::optional<Estimate>& there, bool layout_counts) const;
  Threshold threshold(const ThresholdInput& input, const Sides& sides, const SearchResult& there,
                      bool confirmed) const;
  std::string then(const SearchResult& there) const;

  const Estimator& base_;
  const FixedAxes& fixed_;
  const SearchResult& result_;
  SearchWatch* watch_;
  std::vector<Plan> known_;
};

/// "dp64·tp2 gives way to dp32·tp4·z1·mb1"
std::string gives_way(const Plan& from, const Plan& to);

}  // namespace shardplan
