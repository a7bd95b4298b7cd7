// A published training run: the question and the plan that a row of the corpus denotes.
//
//   Result<TrainingRun> run = read_training_run({table, 0}, catalog());
//   if (!run) ...   // its error's message is the reason why the row cannot be expressed
//
// Columns: those of the published corpus (docs/reference/validation.md). An input that the source does not
// print is taken from the framework's documented defaults and listed in `assumed`; one that has none is a
// reason to skip the row, never a guess. Not here: what was measured (validate/memory_run.h).
#pragma once

#include <string>
#include <vector>

#include "catalog/question.h"
#include "import/catalog.h"
#include "import/csv_table.h"

namespace shardplan {

struct TrainingRun {
  std::string id, source, quality;
  std::string citation;               // where exactly it is printed
  std::string framework, gpu;         // names of the catalog; the GPU as the source spells it
  std::vector<std::string> features;  // "moe", "cp", "full recompute": for tables by feature
  Question question;
  Plan plan;
  std::vector<std::string> assumed;
  /// Why the memory account cannot tell this run's bytes, though its time may be told; or empty.
  std::string memory_gap;
};

Result<TrainingRun> read_training_run(const CsvRow& row, const Catalog& catalog);

}  // namespace shardplan
