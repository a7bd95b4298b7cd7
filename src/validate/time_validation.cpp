#include "validate/time_validation.h"

#include "estimate/estimator.h"
#include "validate/time_run.h"

namespace shardplan {

Validation validate_time(const CsvTable& table, const Catalog& catalog) {
  Validation validation{kTimeBand, "s", {}, {}, {}, {}};
  for (std::size_t i = 0; i < table.size(); ++i) {
    const CsvRow row{table, i};
    if (!has_measured_step(row)) continue;
    const auto skip = [&](const std::string& reason) {
      validation.skipped.push_back({row["id"], row["source_key"], reason});
    };
    const Result<TimeRun> run = read_time_run(row, catalog);
    if (!run) {
      skip(run.error().message);
      continue;
    }
    const TrainingRun& r = run->run;
    const Estimator estimator(r.question);
    if (const auto illegal = estimator.space().violation(r.plan)) {
      skip("not a legal plan here: " + illegal->where);
      continue;
    }
    const double predicted = estimator.time<double>(r.plan).total().raw();
    validation.rows.push_back({r.id,
                               r.source,
                               r.framework,
                               r.gpu,
                               r.features,
                               "",
                               run->measured.raw(),
                               predicted,
                               r.assumed,
                               r.citation,
                               run_profile(r.question, r.plan),
                               {},
                               row["layout_group"]});
  }
  return validation;
}

}  // namespace shardplan
