// Predictions beside measurements: errors of rows and of groups of rows.
//
//   ErrorStats s = error_stats(validation.rows);   // s.median_ape: 0.011
//
// ape = |predicted / measured - 1|; bias = median of predicted / measured - 1; quantiles by linear
// interpolation. Fractions, not percent. Not here: where a row comes from (validate/memory_run.h).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "catalog/evidence.h"
#include "estimate/estimate.h"

namespace shardplan {

struct ValidatedRow {
  std::string id, source, framework, gpu;
  std::vector<std::string> features;
  std::string counter;                 // of memory: "allocated", "reserved", "driver"
  double measured = 0, predicted = 0;  // SI base units
  std::vector<std::string> assumed;
  std::string citation;  // where it is printed
  RunProfile profile;
  /// Of constants that have seen no row of its source; none where they are the ones that have.
  std::optional<double> left_out{};
  std::string layout_group{};  // of rows that differ in their layout only; empty: none
  std::string unit{};          // where it is not the validation's
  double ape() const;
};

struct SkippedRow {
  std::string id, source, reason;
};

/// What is said of a run that is known to have run, or to have run out of memory.
struct JudgedRow {
  std::string id, source, quality, status;
  Verdict verdict = Verdict::kNo;
  double predicted = 0, usable = 0;  // bytes
  bool ran() const { return status == "ok"; }
};

struct Validation {
  std::string kind;  // "training-memory"
  std::string unit;  // of the rows: "bytes"
  std::vector<ValidatedRow> rows;
  std::vector<SkippedRow> skipped;
  std::vector<ValidatedRow> again;  // rows of a second counter that some sources print beside the first
  std::vector<JudgedRow> judged;    // of memory: with or without a measured peak
};

struct ErrorStats {
  std::size_t count = 0;
  double median_ape = 0, mape = 0, p90_ape = 0, bias = 0;
};

/// All zero for no rows.
ErrorStats error_stats(const std::vector<ValidatedRow>& rows);

/// How good the layout ranked first is, over the groups of four or more measured layouts of one question: its
/// measured time over the best one's, less one.
struct Choosing {
  std::size_t groups = 0;
  double mean_loss = 0, largest_loss = 0;
};
Choosing choosing(const std::vector<ValidatedRow>& rows);

/// `share` from 0 to 1; 0 for no values.
double quantile(std::vector<double> values, double share);

/// The rows grouped by what `key` says of each, a row in each of its groups; in order of name.
struct ErrorGroup {
  std::string name;
  std::vector<ValidatedRow> rows;
};
std::vector<ErrorGroup> by_source(const Validation& validation);
std::vector<ErrorGroup> by_gpu(const Validation& validation);
std::vector<ErrorGroup> by_framework(const Validation& validation);
std::vector<ErrorGroup> by_feature(const Validation& validation);
/// The second counters are in here too, and in no other group.
std::vector<ErrorGroup> by_counter(const Validation& validation);

}  // namespace shardplan
