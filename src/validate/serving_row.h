// A published measurement of a serving engine as a case that can be predicted.
//
//   Result<ServingRow> row = read_serving_row({table, 0}, catalog());
//   row->model.name, row->device->name, row->split.tensor, row->format.mlp_bits, row->measured
//
// What a row does not print and has a usual value is taken and listed in `assumed`; what cannot be expressed
// is a reason to skip the row, never a guess. Not here: predictions (serving_tpot_validation.h).
#pragma once

#include <string>
#include <vector>

#include "catalog/serving.h"
#include "import/catalog.h"
#include "import/csv_table.h"

namespace shardplan {

struct ServingRow {
  std::string id, citation;
  Model model;
  const Device* device = nullptr;
  const ServingTime* engine = nullptr;
  ServeSplit split;
  ServeFormat format;
  ServeLoad load;
  bool disaggregated = false, starved = false;
  std::vector<std::string> assumed;
  double measured = 0;  // SI
};

/// What an engine printed when it started, as a case whose memory can be predicted.
struct StartUp {
  std::string id;
  Model model;
  const ServingMemory* engine = nullptr;
  ServeSplit split;
  ServeFormat format;
  bool format_told = false;  // the format of the weights and over how many GPUs they are
  std::vector<std::string> assumed;
};

/// The id that a source gives a row, else its line in the file.
std::string serving_row_id(const CsvRow& row);

Result<ServingRow> read_serving_row(const CsvRow& row, const Catalog& catalog);
Result<StartUp> read_start_up(const CsvRow& row, const Catalog& catalog);

}  // namespace shardplan
