// Predicted cache sizes and weights of published start-ups of serving engines beside what they printed.
//
//   Validation v = validate_serving_kv(table, catalog());
//
// Three counters. "stated": tokens from the room for the cache that the engine printed. "derived": tokens
// where that room follows from the memory, the engine's share, weights and the warm-up's peak. "weights":
// bytes on a GPU, by the checkpoint's format. Each is a row of its own.
#pragma once

#include "import/catalog.h"
#include "import/csv_table.h"
#include "validate/errors.h"

namespace shardplan {

inline constexpr const char* kServingKvKind = "serving-kv";

Validation validate_serving_kv(const CsvTable& table, const Catalog& catalog);

}  // namespace shardplan
