// Predicted times of published collectives beside the measured ones, as they are or calibrated.
//
//   Validation v = validate_collectives(table, catalog());
//   series_median(v)          // of the medians of the series: one vote a series, however long it is
//
// Calibrated: launch, hop latency, bandwidth and pipeline fill of each series are fitted to every other of
// its points, and the points between them are predicted.
#pragma once

#include "import/catalog.h"
#include "import/csv_table.h"
#include "validate/collective_run.h"
#include "validate/errors.h"

namespace shardplan {

inline constexpr const char* kCollectiveKind = "collective";

Validation validate_collectives(const CsvTable& table, const Catalog& catalog);
Validation validate_collectives_calibrated(const CsvTable& table, const Catalog& catalog);

/// Seconds of the way that a run means.
double predicted_time(const CollectiveRun& run, const Calibration& calibration = {});
/// The factors at which the runs of one series come closest, by mean distance on a log scale.
Calibration fit_calibration(const std::vector<const CollectiveRun*>& runs);

/// The median of the series' median errors.
double series_median(const Validation& validation);

}  // namespace shardplan
