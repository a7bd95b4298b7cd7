// A published run with a measured step: how long it took, as printed or as its source's throughput says.
//
//   Result<TimeRun> run = read_time_run({table, 0}, catalog());
//
// Rows whose times say nothing of training at speed are skipped: tests with deterministic kernels, and
// rows that the corpus marks as noisy or derived (quality C). Not here: the run's question and plan
// (validate/training_run.h).
#pragma once

#include "validate/training_run.h"

namespace shardplan {

struct TimeRun {
  TrainingRun run;
  Seconds<> measured;
};

/// Whether the row holds a measured step at all; rows without one are not counted.
bool has_measured_step(const CsvRow& row);

Result<TimeRun> read_time_run(const CsvRow& row, const Catalog& catalog);

}  // namespace shardplan
