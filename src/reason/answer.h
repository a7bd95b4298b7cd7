// The defended answer: the search's result and what there is to say about it. Everything printed comes from
// it.
//
//   Answer a = answer(estimator, fixed);   // a.binding->statement: "compute binds: 40.1 s of the 51.7 s step
//   ..."
//
// Each finding is a value with its numbers; the statement is made from those numbers (reason/*.cpp), never
// written down.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "catalog/evidence.h"
#include "catalog/result.h"
#include "search/search.h"

namespace shardplan {

/// kind: state, activations, logits, weights, kv_cache (memory); compute, hbm_bandwidth, link:<tier>,
/// latency, bubble, prefill_interference, host (time); critical_batch; none.
struct BindingConstraint {
  std::string kind;
  std::string statement;  // one sentence with both sides of the inequality
  double value = 0, limit = 0;
  std::string unit;  // of both: "bytes", "s", "tokens"
};

struct AxisFinding {
  std::string axis;  // "tp"
  std::int64_t degree = 1;
  std::string tier;
  std::optional<BytesPerSecond<>>
      required_bandwidth;  // to stay hidden or, where nothing hides it, to be a tenth of compute
  std::optional<BytesPerSecond<>> available_bandwidth;
  std::string reason;  // with a number
};

struct UnusedAxis {
  std::string axis;
  std::string reason;  // what using it would have cost, with a number
};

/// A number of a statement as it was before it was rounded for it, in SI base units.
struct StatedFigure {
  std::string name;  // "headroom"
  double value = 0;
  std::string unit;  // "bytes"; "" of a ratio and of a count
};

/// The value of a failure's metric from which on it has arrived.
struct FailureLevel {
  std::string when;  // the metric is "above" it, or "below"
  double value = 0;
  std::string unit;
  std::string statement;  // "above 5.1 GiB: the headroom and what ..."
};

struct FailureMode {
  std::string id;
  std::string statement;
  std::string symptom;
  std::string metric;
  std::optional<FailureLevel> level = std::nullopt;
  std::vector<StatedFigure> figures = {};  // of the statement and of the level's
};

struct Threshold {
  std::string parameter;
  double current = 0, threshold = 0;  // SI base units
  std::string unit;
  std::string then;
  /// The value just before it, at which a search has found that the answer is still the same; nothing where
  /// the threshold is exact, or no plan is legal there.
  std::optional<double> same_until = std::nullopt;
};

/// What one input does to the best plan's step (reason/sensitivity.h).
struct Sensitivity {
  std::string parameter, unit;
  double current = 0, low = 0, high = 0;  // SI base units
  Seconds<> step_low, step_high;          // at each, for as many tokens as the step has
  std::string range;                      // what the two are where they are not 0.9 and 1.1 of what it is
};

struct Unknown {
  std::string id;
  std::string statement;
  std::string magnitude;
};

/// A published run, and how far it is from the plan (reason/nearest_measured.h).
struct NearRun {
  MeasuredRun run;
  double distance = 0;
};

struct Answer {
  SearchResult result;
  std::vector<MemoryAccount> memory;                   // of the best plan, then of the runners-up
  std::vector<std::vector<Utilisation>> utilisations;  // of the same, under each convention
  BindingConstraint binding;
  std::vector<AxisFinding> axes;
  std::vector<UnusedAxis> not_used;
  std::vector<FailureMode> failure_modes;
  std::vector<Threshold> thresholds;
  std::vector<Sensitivity> sensitivity;  // the largest first
  std::vector<Unknown> unknowns;
  std::optional<ErrorBand> step_band;    // of the best step, and of the runners-up's
  std::vector<NearRun> nearest;          // to the best plan, nearest first
  std::optional<ErrorBand> memory_band;  // of the totals
  /// Where the best plan is tight: the fastest one that fits at the band's far end too.
  std::optional<Estimate> best_clear;
  /// Its memory, stage by stage.
  std::optional<MemoryAccount> best_clear_memory;
  bool clear_left = false;  // it was not looked for to the end, as the search was stopped
  /// What the band says of the best plan; nothing where none fits.
  std::optional<Verdict> verdict;
  /// What was not looked at to the end, as the search was stopped: "threshold: sequence".
  std::vector<std::string> not_looked_at;
};

/// Says why of a search that was done with the same estimator and axes, and how far off its times may be.
/// Searches on for what would change it, unless it is stopped.
Answer answer(const Estimator& estimator, const FixedAxes& fixed, SearchResult result,
              const Evidence& evidence = {}, SearchWatch* watch = nullptr);

/// Searches and says why.
Answer answer(const Estimator& estimator, const FixedAxes& fixed);

/// What measured runs say of a question's plans: of their steps, of their memory. Nothing where none
/// compares.
struct AnswerBands {
  std::optional<ErrorBand> step, memory;
};
/// `best` = null where no plan fits.
AnswerBands answer_bands(const Question& question, const Plan* best, const Evidence& evidence);

/// The rule that the fixed axes break when no legal plan agrees with them; nothing when some plan does.
std::optional<Violation> why_illegal(const Question& question, const FixedAxes& fixed);

/// A rule that is broken, told as wrong input.
Error illegal_plan(const Violation& violation);

}  // namespace shardplan
