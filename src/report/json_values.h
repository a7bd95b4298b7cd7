// The values every answer is made of, as JSON: SI base units, the unit ends the key. Keys: the contract.
#pragma once

#include <nlohmann/json.hpp>

#include "estimate/estimate.h"
#include "reason/answer.h"

namespace shardplan {

/// Ordered, so that an answer reads top down.
using Json = nlohmann::ordered_json;

inline constexpr int kSchemaVersion = 1;

Json source_json(const Source& source);
Json plan_json(const Plan& plan);
/// Name, device and tiers.
Json cluster_json(const Cluster& cluster);
Json model_json(const Model& model, double state_parameters);
/// Of the fullest stage, with all of them in by_stage.
Json memory_json(const MemoryAccount& memory);
/// Time terms that are not zero.
Json breakdown_json(const TimeBreakdown<>& time);
Json nearest_miss_json(const std::optional<NearestMiss>& miss);
Json census_json(const Census& census);
/// The numbers that a sentence states.
Json figures_json(const std::vector<StatedFigure>& figures);
Json binding_json(const BindingConstraint& binding);
Json utilisations_json(const std::vector<Utilisation>& utilisations);
/// The best plan (0), then the runners-up.
Json estimate_json(const Question& question, const Answer& answer, std::size_t place);
/// Where the best plan is tight, the fastest that is not, with how many times its step takes; else null.
Json best_clear_json(const Answer& answer);
/// What measured runs say of a predicted total; null where none compares.
Json memory_band_json(const std::optional<ErrorBand>& band, Bytes<> total);
/// {"id", "source", "measured", "predicted"} of runs, seconds, with what was run and how far it is.
Json nearest_json(const std::vector<NearRun>& nearest);
/// Why nothing fits, and what would; null where something does.
Json nothing_fits_json(const std::optional<NothingFits>& why);
/// binding_constraint, axes, not_used, failure_modes, thresholds, unknowns.
void add_findings(const Answer& answer, Json& json);

}  // namespace shardplan
