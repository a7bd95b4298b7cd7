// Predicted memory peaks of published runs beside the measured ones.
//
//   Validation v = validate_memory(table, catalog());
//   error_stats(v.rows).median_ape, v.skipped
//
// The same counter on the same rank is compared: the peak of allocated bytes of the stage that was logged, or
// of the fullest stage where the source gives the largest of all ranks.
#pragma once

#include "import/catalog.h"
#include "import/csv_table.h"
#include "validate/errors.h"

namespace shardplan {

Validation validate_memory(const CsvTable& table, const Catalog& catalog);

}  // namespace shardplan
