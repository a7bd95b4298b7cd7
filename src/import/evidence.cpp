#include "import/evidence.h"

namespace shardplan {
namespace {

constexpr double kMost = 1e30;
constexpr std::int64_t kMostRows = 1'000'000;

MeasuredRun read_run(const JsonNode& node) {
  node.allow_only({"id", "source", "model", "framework", "gpu", "architecture", "precision", "experts",
                   "parameters", "gpus", "tokens_per_gpu", "measured_s", "predicted_s"});
  MeasuredRun run;
  run.id = node.at("id").text();
  run.source = node.at("source").text();
  RunProfile& p = run.profile;
  p.model = node.at("model").text();
  p.framework = node.at("framework").text();
  p.device = node.at("gpu").text();
  p.architecture = node.at("architecture").text();
  p.precision = node.at("precision").text();
  p.experts = node.at("experts").boolean();
  p.parameters = node.at("parameters").number(1, kMost);
  p.gpus = node.at("gpus").number(1, kMost);
  p.tokens_per_gpu = node.at("tokens_per_gpu").number(0, kMost);
  run.measured = seconds(node.at("measured_s").number(0, kMost));
  run.predicted = seconds(node.at("predicted_s").number(0, kMost));
  return run;
}

}  // namespace

void read_evidence(const JsonNode& root, Evidence& evidence) {
  root.allow_only({"made_by", "kind", "bands", "runs"});
  for (const JsonNode& node : root.at("bands").items()) {
    node.allow_only({"of", "name", "rows", "low_ratio", "high_ratio"});
    evidence.bands.push_back({root.at("kind").text(), node.at("of").text(), node.at("name").text(),
                              node.at("rows").integer(1, kMostRows), node.at("low_ratio").number(0, kMost),
                              node.at("high_ratio").number(0, kMost)});
  }
  for (const JsonNode& node : root.at("runs").items()) evidence.runs.push_back(read_run(node));
}

}  // namespace shardplan
