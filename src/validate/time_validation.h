// Predicted steps of published runs beside the measured ones.
//
//   Validation v = validate_time(table, catalog());
//   error_stats(v.rows).median_ape, v.skipped
//
// The plan is the one that ran, so it is timed whether or not its memory is thought to fit; one that the
// legality rules forbid is skipped with the rule.
#pragma once

#include "import/catalog.h"
#include "import/csv_table.h"
#include "validate/errors.h"

namespace shardplan {

Validation validate_time(const CsvTable& table, const Catalog& catalog);

}  // namespace shardplan
