#include "validate/time_run.h"

#include "units/format.h"

namespace shardplan {
namespace {

/// The corpus derives `measured_step_s` where a source prints a throughput; a table without that column has
/// the printed step.
std::optional<double> measured_step(const CsvRow& row) {
  return parse_number(row[row.table.has("measured_step_s") ? "measured_step_s" : "step_time_s"]);
}

}  // namespace

bool has_measured_step(const CsvRow& row) {
  const auto value = measured_step(row);
  return value && *value > 0;
}

Result<TimeRun> read_time_run(const CsvRow& row, const Catalog& catalog) {
  const auto skipped = [&](const std::string& reason) { return Error{"skipped", reason, row["id"], "", ""}; };
  if (row["status"] != "ok") return skipped("the run's status is " + row["status"]);
  if (row["source_key"] == "megatron-golden")
    return skipped("functional tests with deterministic kernels: their times say nothing of a run");
  if (row["quality"] == "C") return skipped("quality C: noisy, contradictory or derived");
  Result<TrainingRun> run = read_training_run(row, catalog);
  if (!run) return run.error();
  const Training& work = run->question.workload;
  if (!run->question.cluster.device.peak[static_cast<std::size_t>(work.precision())]) {
    return skipped(std::string("no ") + name(work.precision()) + " peak is known of " + run->gpu);
  }
  if (work.global_batch == 0) return skipped("the global batch is not printed");
  return TimeRun{std::move(run).value(), seconds(measured_step(row).value_or(0))};
}

}  // namespace shardplan
