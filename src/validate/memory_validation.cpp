#include "validate/memory_validation.h"

#include "estimate/estimator.h"
#include "validate/memory_run.h"

namespace shardplan {
namespace {

MemoryPeaks<> predicted_peaks(const MemoryRun& run) {
  const Estimator estimator(run.run.question);
  const Plan& plan = run.run.plan;
  int stage = run.rank == MemoryRun::Rank::kLast ? plan.pp - 1 : 0;
  const MemoryBreakdown<> memory = run.rank == MemoryRun::Rank::kLargest
                                       ? estimator.fullest_memory<double>(plan, stage)
                                       : estimator.stage_memory<double>(plan, stage);
  return estimator.memory_peaks<double>(plan, stage, memory);
}

Bytes<> by(MemoryRun::Counter counter, const MemoryPeaks<>& peaks) {
  switch (counter) {
    case MemoryRun::Counter::kReserved:
      return peaks.reserved;
    case MemoryRun::Counter::kDriver:
      return peaks.driver;
    case MemoryRun::Counter::kAllocated:
      break;
  }
  return peaks.allocated;
}

/// Of a run that ran or ran out of memory on a stated card; nothing where the row cannot be expressed.
std::optional<JudgedRow> judge(const CsvRow& row, const Catalog& catalog) {
  const std::string& status = row["status"];
  if (status != "ok" && !status.starts_with("oom")) return std::nullopt;
  const Result<TrainingRun> run = read_training_run(row, catalog);
  if (!run || !run->memory_gap.empty()) return std::nullopt;
  Question question = run->question;
  question.activations = ActivationModel::kOps;
  const Estimator estimator(question);
  int stage = 0;
  const Bytes<> total = estimator.fullest_memory<double>(run->plan, stage).total();
  const Bytes<> usable = estimator.usable<double>();
  const ErrorBand* band = find_band(catalog.evidence, kMemoryBand, run->framework, question.cluster.device);
  return JudgedRow{run->id,     run->source, run->quality, status, verdict_of(total, usable, band),
                   total.raw(), usable.raw()};
}

}  // namespace

Validation validate_memory(const CsvTable& table, const Catalog& catalog) {
  Validation validation{kMemoryBand, "bytes", {}, {}, {}, {}};
  for (std::size_t i = 0; i < table.size(); ++i) {
    const CsvRow row{table, i};
    if (const auto judged = judge(row, catalog)) validation.judged.push_back(*judged);
    if (!has_measured_peak(row)) continue;
    const Result<MemoryRun> run = read_memory_run(row, catalog);
    if (!run) {
      validation.skipped.push_back({row["id"], row["source_key"], run.error().message});
      continue;
    }
    const TrainingRun& r = run->run;
    const MemoryPeaks<> peaks = predicted_peaks(*run);
    ValidatedRow row_out{r.id,
                         r.source,
                         r.framework,
                         r.gpu,
                         r.features,
                         name(run->counter),
                         run->measured.raw(),
                         by(run->counter, peaks).raw(),
                         r.assumed,
                         r.citation,
                         run_profile(r.question, r.plan),
                         {}};
    validation.rows.push_back(row_out);
    if (!run->reserved) continue;
    row_out.counter = name(MemoryRun::Counter::kReserved);
    row_out.measured = run->reserved->raw();
    row_out.predicted = peaks.reserved.raw();
    validation.again.push_back(row_out);
  }
  return validation;
}

}  // namespace shardplan
