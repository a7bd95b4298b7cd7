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
#include "catalog/objective.h"
#include "catalog/result.h"
#include "search/search.h"

namespace shardplan {

/// A number that a sentence states, as it is before it is rounded for print. Unit: "bytes", "s", "bytes/s",
/// "GPUs", "tokens", "USD", "share" (of 1, printed in per cent); empty for a ratio or a plain count.
struct StatedFigure {
  std::string id;  // what it is of: "state", "activations"
  double value = 0;
  std::string unit;
};

/// kind: state, activations, logits, weights, kv_cache (memory); compute, hbm_bandwidth, link:<tier>,
/// latency, bubble, prefill_interference, host (time); critical_batch; none.
struct BindingConstraint {
  std::string kind;
  std::string statement;  // one sentence with both sides of the inequality
  double value = 0, limit = 0;
  std::string unit;  // of both: "bytes", "s", "tokens"
  std::vector<StatedFigure> figures = {};
};

/// What an axis needs of one tier that its group reaches over, the others as they are.
struct LinkNeed {
  std::string tier;
  std::optional<BytesPerSecond<>> required;  // nothing: no bandwidth of this tier is enough
  BytesPerSecond<> available;
};

struct AxisFinding {
  std::string axis;         // "tp"; "zero" for what shards state over replicas
  std::int64_t degree = 1;  // of zero the ranks that it shards over
  std::string tier;         // that sets the pace: the two bandwidths are of it
  /// The least that is enough, for what `required_for` says.
  std::optional<BytesPerSecond<>> required_bandwidth;
  std::optional<BytesPerSecond<>> available_bandwidth;
  std::string reason;             // with a number
  std::string spans = {};         // the outermost tier that its group reaches over
  std::string required_for = {};  // "hidden", "share_of_compute"; of serving "tpot_limit", "share_of_token"
  std::vector<LinkNeed> links = {};  // of each tier that its group reaches over, the innermost first
  std::vector<StatedFigure> figures = {};
};

struct UnusedAxis {
  std::string axis;
  std::string reason;                       // what using it would have cost, with a number
  std::optional<Plan> plan = std::nullopt;  // the best one with it
  std::vector<StatedFigure> figures = {};
};

/// One thing that was told, or that a machine has, and that keeps plans from fitting.
struct Limit {
  std::string id;         // "hbm", "gpus", "sequence", "tp", "recompute", "offload", "optimizer"
  std::string statement;  // "64 GPUs", "tp 1 is told"
  double value = 0;       // 0 where it is no number
  std::string unit;
};

/// One limit moved so far that a plan fits, and what that costs.
struct FittingChange {
  std::string id;           // of the limit
  std::string statement;    // "GPUs from 64 to 96"
  std::string price;        // "32 GPUs more; 41.3 s a step, ..."
  double from = 0, to = 0;  // 0 where it is no number
  std::string unit;
  bool changes_training = false;  // other numbers come out
  Plan plan;                      // the fastest that then fits
  Seconds<> step;
  std::int64_t gpus = 0;
  double tokens = 0;  // of a step
  Bytes<> host{};     // what a node needs of its host's memory
  std::vector<StatedFigure> figures = {};
};

/// Why nothing fits: limits of which none can be left out, and what is the least to be changed.
struct NothingFits {
  std::vector<Limit> limits;  // no plan keeps all; without any one of them some plan fits
  std::string proof;          // one line, both sides of an inequality
  std::vector<StatedFigure> figures;
  std::vector<FittingChange> changes;  // three at most, the smallest first
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

/// A figure of catalog/risk.h that the findings state, with its source.
struct JudgedBy {
  std::string id;
  std::string statement;  // "10.0 % more of a step or a token is felt"
  double value = 0;
  std::string unit;
  Source source;
};

struct Threshold {
  std::string parameter;
  double current = 0, threshold = 0;  // SI base units
  std::string unit;
  std::string then;
  /// The value just before it, at which a search has found that the answer is still the same; nothing where
  /// no plan is legal there, or no search was needed.
  std::optional<double> same_until = std::nullopt;
  std::vector<StatedFigure> figures = {};  // of `then`
};

/// A parameter whose thresholds are not sought, and why.
struct NotSought {
  std::string parameter;
  std::string reason;
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
  std::vector<StatedFigure> figures = {};  // of the magnitude
  std::string source = {};                 // of the magnitude's figures
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
  std::optional<NothingFits> nothing_fits;
  std::vector<AxisFinding> axes;
  std::vector<UnusedAxis> not_used;
  std::vector<FailureMode> failure_modes;
  std::vector<JudgedBy> judged_by;  // what axes and failure modes state of the catalog's risk figures
  std::vector<Threshold> thresholds;
  std::vector<NotSought> not_sought;
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
/// `price`: of one GPU, where it was told.
Answer answer(const Estimator& estimator, const FixedAxes& fixed, SearchResult result,
              const Evidence& evidence = {}, SearchWatch* watch = nullptr,
              std::optional<UsdPerSecond<>> price = std::nullopt);

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
