#include "validate/memory_validation.h"

#include "estimate/estimator.h"
#include "validate/memory_run.h"

namespace shardplan {
namespace {

Bytes<> predicted_peak(const MemoryRun& run) {
  const Estimator estimator(run.run.question);
  int stage = 0;
  switch (run.rank) {
    case MemoryRun::Rank::kFirst:
      return estimator.stage_memory<double>(run.run.plan, 0).total();
    case MemoryRun::Rank::kLast:
      return estimator.stage_memory<double>(run.run.plan, run.run.plan.pp - 1).total();
    case MemoryRun::Rank::kLargest:
      break;
  }
  return estimator.fullest_memory<double>(run.run.plan, stage).total();
}

}  // namespace

Validation validate_memory(const CsvTable& table, const Catalog& catalog) {
  Validation validation{kMemoryBand, "bytes", {}, {}};
  for (std::size_t i = 0; i < table.size(); ++i) {
    const CsvRow row{table, i};
    if (!has_measured_peak(row)) continue;
    const Result<MemoryRun> run = read_memory_run(row, catalog);
    if (!run) {
      validation.skipped.push_back({row["id"], row["source_key"], run.error().message});
      continue;
    }
    const TrainingRun& r = run->run;
    validation.rows.push_back({r.id, r.source, r.framework, r.gpu, r.features, run->measured.raw(),
                               predicted_peak(*run).raw(), r.assumed, r.citation,
                               run_profile(r.question, r.plan)});
  }
  return validation;
}

}  // namespace shardplan
