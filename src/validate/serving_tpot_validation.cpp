#include "validate/serving_tpot_validation.h"

#include <algorithm>

#include "catalog/parameters.h"
#include "estimate/serve_time.h"
#include "import/cluster_build.h"
#include "validate/serving_row.h"

namespace shardplan {
namespace {

// From here on a dense model is not called small.
constexpr double kSmallParameters = 30e9;

const char* class_of(const ServingRow& row) {
  if (row.disaggregated) return "disaggregated";
  for (const Layer& layer : row.model.layers) {
    if (std::holds_alternative<MoeMlp>(layer.mlp)) return "mixture";
  }
  return state_parameters(row.model) < kSmallParameters ? "small" : "dense";
}

RunProfile profile_of(const ServingRow& row) {
  RunProfile profile;
  profile.model = row.model.name;
  profile.framework = row.engine->name;
  profile.device = row.device->name;
  profile.architecture = row.device->architecture;
  profile.precision = name(row.format.products);
  profile.experts = std::any_of(row.model.layers.begin(), row.model.layers.end(),
                                [](const Layer& l) { return std::holds_alternative<MoeMlp>(l.mlp); });
  profile.parameters = state_parameters(row.model);
  profile.gpus = static_cast<double>(row.split.gpus());
  profile.tokens_per_gpu =
      static_cast<double>(row.load.batch) * (row.load.input + row.load.output / 2) / profile.gpus;
  return profile;
}

/// Without the row's own id.
std::string source_of(const CsvRow& row) { return row["source"].substr(0, row["source"].find(" id=")); }

Result<double> predicted(const ServingRow& row, const Catalog& catalog) {
  const Result<Cluster> cluster = usual_cluster(catalog, *row.device, row.split.gpus(), std::nullopt);
  if (!cluster) return cluster.error();
  const auto& launch = catalog.collectives.launchers[static_cast<std::size_t>(Launcher::kDeviceKernel)];
  const ServeShape shape(row.model, row.split, row.format);
  return token_time<double>(*cluster, shape, *row.engine, launch, {row.load, {}, 0}).token().raw();
}

}  // namespace

Validation validate_serving_tpot(const CsvTable& table, const Catalog& catalog) {
  Validation validation{kServingTpotKind, "s", {}, {}, {}, {}};
  for (std::size_t i = 0; i < table.size(); ++i) {
    const CsvRow row{table, i};
    if (row["metric"] != "TPOT") continue;
    const Result<ServingRow> read = read_serving_row(row, catalog);
    const Result<double> time = read ? predicted(*read, catalog) : Result<double>(read.error());
    if (!time) {
      validation.skipped.push_back({serving_row_id(row), source_of(row), time.error().message});
      continue;
    }
    ValidatedRow out;
    out.id = read->id;
    out.source = source_of(row);
    out.framework = read->engine->name;
    out.gpu = read->device->name;
    out.features = {class_of(*read), read->model.name};
    out.measured = read->measured;
    out.predicted = *time;
    out.assumed = read->assumed;
    out.citation = read->citation;
    out.profile = profile_of(*read);
    validation.rows.push_back(out);
  }
  return validation;
}

}  // namespace shardplan
