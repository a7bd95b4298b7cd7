#include "validate/memory_run.h"

#include <array>

#include "units/format.h"

namespace shardplan {

const char* name(MemoryRun::Counter counter) {
  static constexpr std::array kNames{"allocated", "reserved", "driver"};
  return kNames[static_cast<std::size_t>(counter)];
}

bool has_measured_peak(const CsvRow& row) {
  const auto value = parse_number(row["peak_mem_gb"]);
  return value && *value > 0;
}

Result<MemoryRun> read_memory_run(const CsvRow& row, const Catalog& catalog) {
  const auto skipped = [&](const std::string& reason) { return Error{"skipped", reason, row["id"], "", ""}; };
  MemoryRun memory;
  const std::string& counter = row["mem_counter"];
  if (counter == "reserved") {
    memory.counter = MemoryRun::Counter::kReserved;
  } else if (counter == "driver") {
    memory.counter = MemoryRun::Counter::kDriver;
  } else if (counter != "allocated" && counter != "active") {
    return skipped("counter " + counter + ": which bytes were counted is not known");
  }
  if (row["status"] != "ok") return skipped("the run's status is " + row["status"]);
  memory.measured = gibibytes(parse_number(row["peak_mem_gb"]).value_or(0));
  if (const auto reserved = parse_number(row["reserved_mem_gib"]); reserved && *reserved > 0) {
    memory.reserved = gibibytes(*reserved);
  }
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
