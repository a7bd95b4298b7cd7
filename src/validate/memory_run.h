// A published run with a measured memory peak: the question and the plan that it denotes, and what was
// measured.
//
//   Result<MemoryRun> run = read_memory_run({table, 0}, catalog());
//   if (!run) ...   // its error's message is the reason why the row cannot be expressed
//
// Columns: those of the published corpus (framework_args, mem_counter, mem_rank, peak_mem_gb, ...). An input
// that the source does not print is taken from the framework's documented defaults and listed in `assumed`;
// one that has none, or a feature that the account does not know, is a reason to skip, never a guess.
#pragma once

#include <string>
#include <vector>

#include "catalog/question.h"
#include "import/catalog.h"
#include "import/csv_table.h"

namespace shardplan {

struct MemoryRun {
  enum class Rank { kFirst, kLast, kLargest };
  std::string id, source, framework, gpu;
  std::vector<std::string> features;  // "moe", "cp", "full recompute": for tables by feature
  Question question;
  Plan plan;
  Rank rank = Rank::kLargest;
  std::string counter;  // "allocated"
  Bytes<> measured;
  std::vector<std::string> assumed;
};

/// Whether the row holds a measured peak at all; rows without one are not counted.
bool has_measured_peak(const CsvRow& row);

Result<MemoryRun> read_memory_run(const CsvRow& row, const Catalog& catalog);

}  // namespace shardplan
