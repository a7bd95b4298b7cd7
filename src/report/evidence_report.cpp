#include "report/evidence_report.h"

#include "report/json_values.h"

namespace shardplan {
namespace {

Json band_json(const ErrorBand& band) {
  return {{"of", band.of},
          {"name", band.name},
          {"rows", band.rows},
          {"low_ratio", band.low_ratio},
          {"high_ratio", band.high_ratio}};
}

Json run_json(const MeasuredRun& run) {
  const RunProfile& p = run.profile;
  return {{"id", run.id},
          {"source", run.source},
          {"model", p.model},
          {"framework", p.framework},
          {"gpu", p.device},
          {"architecture", p.architecture},
          {"precision", p.precision},
          {"experts", p.experts},
          {"parameters", p.parameters},
          {"gpus", p.gpus},
          {"tokens_per_gpu", p.tokens_per_gpu},
          {"measured_s", run.measured.raw()},
          {"predicted_s", run.predicted.raw()}};
}

template <class Entry>
std::string lines(const std::vector<Entry>& entries, Json (*json)(const Entry&)) {
  std::string text;
  for (const Entry& entry : entries) text += (text.empty() ? "\n    " : ",\n    ") + json(entry).dump();
  return "[" + text + (text.empty() ? "]" : "\n  ]");
}

}  // namespace

std::string evidence_text(const std::string& kind, const Evidence& evidence, const std::string& made_by) {
  return "{\n  \"made_by\": " + Json(made_by).dump() + ",\n  \"kind\": " + Json(kind).dump() +
         ",\n  \"bands\": " + lines(evidence.bands, band_json) +
         ",\n  \"runs\": " + lines(evidence.runs, run_json) + "\n}\n";
}

}  // namespace shardplan
