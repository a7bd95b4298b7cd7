// Predicted times of a token of published serving runs beside the measured ones.
//
//   Validation v = validate_serving_tpot(table, catalog());
//
// Classes, the first feature of a row: "dense" (30 B parameters and more), "small", "mixture",
// "disaggregated". Rows whose cache was starved are skipped: fewer requests ran than the row says.
#pragma once

#include "import/catalog.h"
#include "import/csv_table.h"
#include "validate/errors.h"

namespace shardplan {

inline constexpr const char* kServingTpotKind = "serving-tpot";

Validation validate_serving_tpot(const CsvTable& table, const Catalog& catalog);

}  // namespace shardplan
