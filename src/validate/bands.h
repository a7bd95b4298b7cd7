// The evidence that follows from rows that were predicted and measured.
//
//   Evidence e = evidence_of(validate_time(table, catalog()));   // e.bands, e.runs
//
// A group of rows has a band when it is large enough for its tenths to mean something. "generic" is not a
// framework that a run is of, so it has none. Times are grouped by GPU, architecture, framework and as one;
// memory by framework, as another's buffers say nothing of one's own. Figures keep four digits, so that the
// last bits of a machine's arithmetic do not show.
//
// A band of times describes: between its ends lay 8 in 10 of the measured steps. One of memory decides:
// between its ends the next run lies 95 times in 100, so its ends are bounds of prediction
// (prediction_bound).
#pragma once

#include "catalog/evidence.h"
#include "import/csv_table.h"
#include "validate/errors.h"

namespace shardplan {

/// Rows that a band needs.
inline constexpr std::size_t kBandRowsMin = 10;

/// Takes predictions by constants that have seen no row of a row's source from a table of id and left_out_s,
/// as tools/fit/fit.py writes it: bands of rows that were fitted would flatter.
void take_left_out(const CsvTable& table, Validation& validation);

/// The value that one further run of the kind stays below with probability `share`: of n + 1 runs alike, each
/// is as likely to be the largest, so it is the (n + 1) share-th of the n in order (G. J. Hahn, W. Q. Meeker,
/// Statistical Intervals, 1991, chapter 5). Interpolated; no further out than the furthest value, where
/// fewer than 39 rows say less than 95 in 100 (memory_band_share).
double prediction_bound(std::vector<double> values, double share);

Evidence evidence_of(const Validation& validation);

}  // namespace shardplan
