// Rows of several files, predicted beside what was measured, as one validation.
//
//   Result<Validation> all = validate_files({.kind = *validation_kind("training-time"), .files =
//   {"runs.csv"}},
//                                           catalog());
//
// Not here: how a row of a kind is read and predicted (time_validation.h, memory_validation.h,
// collective_validation.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "import/catalog.h"
#include "import/csv_table.h"
#include "import/nccl_log.h"
#include "validate/errors.h"

namespace shardplan {

struct ValidationKind {
  const char* name;
  const char* unit;
  std::vector<const char*> columns;  // that a table must have
  const char* measured;              // of the columns, what was measured
  const char* source;                // the column of sources
  Validation (*validate)(const CsvTable& table, const Catalog& catalog);
};
/// By name; the error names the nearest.
Result<const ValidationKind*> validation_kind(const std::string& name);

struct ValidationFiles {
  const ValidationKind& kind;
  std::vector<std::string> files;      // CSV, or of collectives logs of nccl-tests
  std::vector<std::string> leave_out;  // sources that are not counted
  NcclLogNotes told{};                 // what a log does not name
  bool calibrate = false;              // of collectives: each series to every other of its points
};

/// Every row of every file but those of sources left out, or the first thing that is wrong.
Result<Validation> validate_files(const ValidationFiles& request, const Catalog& catalog);

/// What the rows are predicted by constants that were fitted without their source, from such a file.
std::optional<Error> take_left_out_file(const std::string& file, Validation& rows);

}  // namespace shardplan
