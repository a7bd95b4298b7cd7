// What there is to say about one way to serve: what binds, what it accepts, which load or latency would
// change the answer, what the formulas leave out. Shared by `serve` and the drills.
//
//   BindingConstraint b = serve_binding(question, plan);   // kind "latency", 13.44 ms of the 25 ms limit
//
// Private to reason/. Not here: which plan is best (search/serve_search.h).
#pragma once

#include <optional>
#include <vector>

#include "reason/serve_answer.h"

namespace shardplan {

BindingConstraint serve_binding(const ServeQuestion& question, const ServePlan& plan);
/// Values of the question, each alone, at which the plan turns from yes to no or back, or another becomes the
/// best (serve_thresholds.cpp).
std::vector<Threshold> serve_thresholds(const ServeQuestion& question, const ServeSearch& search);
/// Of a plan that fits: what it accepts, each with its level (serve_failure_modes.cpp).
std::vector<FailureMode> serve_failure_modes(const ServeQuestion& question, const ServePlan& plan,
                                             const std::optional<ErrorBand>& band);
/// What its axes need of their links (serve_axes.cpp), of a plan that fits.
std::vector<AxisFinding> serve_axes(const ServeQuestion& question, const ServePlan& plan);
/// The latency of the outermost tier up to which the all-reduces of a token are short enough: within the
/// limit on a token or, where none is told, no more than an allowed share of the rest of it. Nothing where
/// they are not now, or where that latency has no part in them.
std::optional<Seconds<>> most_latency(const ServeQuestion& question, const ServePlan& plan);
/// What every other degree would cost, told or not.
std::vector<UnusedAxis> serve_unused_axes(const ServeQuestion& question, const ServeSearch& search);
/// The inputs that move the time of a token most (serve_sensitivity.cpp).
std::vector<Sensitivity> serve_sensitivity(const ServeQuestion& question, const ServePlan& plan);
std::vector<Unknown> serve_unknowns(const ServeQuestion& question, const ServeAnswer& answer);

}  // namespace shardplan
