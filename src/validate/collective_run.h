// One measured collective of the published corpus: the question that it answers, and its time.
//
//   Result<CollectiveRun> run = read_collective_run({table, 0}, catalog());
//   if (!run) ...   // its error's message is the reason why the row cannot be expressed
//
// What is told of a row is its devices, its network and who launched it; which algorithm ran is left to the
// model. Where a row is of one kernel ("ca_1stage"), that kernel is what was asked for. Columns:
// docs/reference/validation.md.
#pragma once

#include <string>
#include <vector>

#include "catalog/communication.h"
#include "import/catalog.h"
#include "import/csv_table.h"

namespace shardplan {

struct CollectiveRun {
  std::string series;  // "DGX H100 2 nodes, all-reduce": points of one sweep
  std::string citation, gpu, fabric;
  CommQuestion question;
  std::vector<CommAlgorithm> kernels;  // one of these is meant; any way where the list is empty
  Seconds<> measured;
  std::vector<std::string> assumed;
};

Result<CollectiveRun> read_collective_run(const CsvRow& row, const Catalog& catalog);

}  // namespace shardplan
