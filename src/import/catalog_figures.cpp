#include "import/catalog_figures.h"

#include <algorithm>

#include "import/serving_memory.h"
#include "import/serving_time.h"
#include "import/sourced_json.h"

namespace shardplan {

void read_reliability(const JsonNode& root, Catalog& catalog) {
  root.allow_only({"mtbf_gpu_s", "restart_s", "storage_gpu_bytes_per_s"});
  Reliability& r = catalog.reliability;
  r.mtbf_gpu = read_positive<Seconds<>>(root.at("mtbf_gpu_s"), catalog.sources);
  r.restart = read_sourced<Seconds<>>(root.at("restart_s"), catalog.sources, 0);
  r.storage_gpu = read_positive<BytesPerSecond<>>(root.at("storage_gpu_bytes_per_s"), catalog.sources);
}

void read_risk(const JsonNode& root, Catalog& catalog) {
  std::vector<const char*> ids(kRiskFigures.size());
  std::transform(kRiskFigures.begin(), kRiskFigures.end(), ids.begin(), [](auto& f) { return f.id; });
  root.allow_only(ids);
  for (const RiskFigure& f : kRiskFigures)
    catalog.risk.*f.figure = read_positive<Ratio<>>(root.at(f.id), catalog.sources);
}

void read_serving_memory(const JsonNode& root, Catalog& catalog) {
  catalog.serving_memories = read_serving_memories(root, catalog.sources);
}

void read_serving_time(const JsonNode& root, Catalog& catalog) {
  catalog.serving_times = read_serving_times(root, catalog.sources);
}

}  // namespace shardplan
