// The inputs of a question that thresholds are sought for, each with how it is read and set.
//
//   for (const ThresholdInput& input : threshold_inputs(question, result)) input.set(other, 2 *
//   input.current);
//
// Sequences and batches have the values that the best plan's degrees divide. Layers are as many more or fewer
// as there are stages, those of a runner-up where the best plan has none: at any other count it is the
// evenness of the stages that goes, not the model that is too large. Not here: the memory of a GPU, whose
// threshold is exact (threshold_hbm.h); what is found (thresholds.h).
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "reason/answer.h"

namespace shardplan {

struct ThresholdInput {
  std::string name = {};
  std::string unit = {};
  double current = 0;  // SI base units
  double step = 0;     // of GPUs: values are whole multiples of it
  /// Increasing, within a factor of 4 of the current one, which is among them; empty = any.
  std::vector<double> values = {};
  /// Whether it can have the value; sets it.
  std::function<bool(Question&, double)> set = {};
  /// A change of layout is a threshold; else only whether anything fits is.
  bool layout_counts = true;
  std::array<bool, 2> directions{true, true};  // upwards and downwards: those that can matter
};

/// Those that can change the answer. `result` is the question's own.
std::vector<ThresholdInput> threshold_inputs(const Question& question, const SearchResult& result);

/// Those that could change it and that no search is made for.
std::vector<NotSought> not_sought(const Question& question, const SearchResult& result);

}  // namespace shardplan
