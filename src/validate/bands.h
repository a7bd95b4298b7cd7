// The evidence that follows from rows that were predicted and measured.
//
//   Evidence e = evidence_of(validate_time(table, catalog()));   // e.bands, e.runs
//
// A group of rows has a band when it is large enough for its tenths to mean something. "generic" is not a
// framework that a run is of, so it has none. Times are grouped by GPU, architecture, framework and as one;
// memory by framework, as another's buffers say nothing of one's own. Figures keep four digits, so that the
// last bits of a machine's arithmetic do not show.
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

Evidence evidence_of(const Validation& validation);

}  // namespace shardplan
