#include "validate/memory_run.h"

#include "units/format.h"

namespace shardplan {

bool has_measured_peak(const CsvRow& row) {
  const auto value = parse_number(row["peak_mem_gb"]);
  return value && *value > 0;
}

Result<MemoryRun> read_memory_run(const CsvRow& row, const Catalog& catalog) {
  const auto skipped = [&](const std::string& reason) { return Error{"skipped", reason, row["id"], "", ""}; };
  MemoryRun memory;
  memory.counter = row["mem_counter"];
  if (memory.counter != "allocated")
    return skipped("counter " + memory.counter + ": only allocated bytes are predicted yet");
  if (row["status"] != "ok") return skipped("the run's status is " + row["status"]);
  memory.measured = gibibytes(parse_number(row["peak_mem_gb"]).value_or(0));
  if (row["mem_rank"] == "first") memory.rank = MemoryRun::Rank::kFirst;
  if (row["mem_rank"] == "last") memory.rank = MemoryRun::Rank::kLast;
  Result<TrainingRun> run = read_training_run(row, catalog);
  if (!run) return run.error();
  if (!run->memory_gap.empty()) return skipped(run->memory_gap);
  memory.run = std::move(run).value();
  memory.run.question.activations = ActivationModel::kOps;
  return memory;
}

}  // namespace shardplan
