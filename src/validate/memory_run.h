// A published run with a measured memory peak: what was measured, by which counter, on which rank.
//
//   Result<MemoryRun> run = read_memory_run({table, 0}, catalog());
//
// A feature that the account does not know is a reason to skip the row. Not here: the run's question and plan
// (validate/training_run.h).
#pragma once

#include <optional>

#include "validate/training_run.h"

namespace shardplan {

struct MemoryRun {
  enum class Rank { kFirst, kLast, kLargest };
  TrainingRun run;
  Rank rank = Rank::kLargest;
  enum class Counter { kAllocated, kReserved, kDriver };
  Counter counter = Counter::kAllocated;
  Bytes<> measured;
  std::optional<Bytes<>> reserved;  // where the source prints it beside the allocated peak
};

const char* name(MemoryRun::Counter counter);

/// Whether the row holds a measured peak at all; rows without one are not counted.
bool has_measured_peak(const CsvRow& row);

Result<MemoryRun> read_memory_run(const CsvRow& row, const Catalog& catalog);

}  // namespace shardplan
