#include "catalog/evidence.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "catalog/parameters.h"
#include "units/format.h"

namespace shardplan {
namespace {

constexpr double kBillion = 1e9;

}  // namespace

RunProfile run_profile(const Question& q, const Plan& plan) {
  const auto& layers = q.model.layers;
  RunProfile run;
  run.model = q.model.name;
  run.framework = q.framework.name;
  run.device = q.cluster.device.name;
  run.architecture = q.cluster.device.architecture;
  run.precision = name(q.workload.precision());
  run.experts = std::any_of(layers.begin(), layers.end(),
                            [](const Layer& l) { return std::holds_alternative<MoeMlp>(l.mlp); });
  run.parameters = state_parameters(q.model);
  run.gpus = static_cast<double>(plan.gpus());
  const std::int64_t batch = plan.sequences();
  run.tokens_per_gpu = static_cast<double>(batch * q.workload.sequence) / run.gpus;
  return run;
}

std::string title(const RunProfile& run) {
  return run.model + " (" + format_number(run.parameters / kBillion) + " B) on " + format_count(run.gpus) +
         " x " + run.device + ", " + run.precision;
}

const ErrorBand* find_band(const Evidence& evidence, std::string_view kind, std::string_view framework,
                           const Device& device) {
  const std::array<std::pair<std::string_view, std::string_view>, 3> wanted{
      {{"gpu", device.name}, {"architecture", device.architecture}, {"framework", framework}}};
  for (const auto& [of, name] : wanted) {
    for (const ErrorBand& band : evidence.bands) {
      if (band.kind == kind && band.of == of && band.name == name) return &band;
    }
  }
  return nullptr;
}

double memory_band_share(const ErrorBand& band) {
  const double rows = static_cast<double>(band.rows);
  return std::min(kMemoryBandShare, (rows - 1) / (rows + 1));
}

std::string ratio_text(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", ratio);
  return text;
}

std::string range_text(const ErrorBand& band) {
  return ratio_text(band.low_ratio) + " to " + ratio_text(band.high_ratio) + " times";
}

std::string rows_text(const ErrorBand& band) {
  const std::string rows = format_count(static_cast<double>(band.rows)) + " measured runs";
  if (band.of == "gpu") return rows + " on " + band.name;
  if (band.of == "architecture") return rows + " on " + band.name + " GPUs";
  return rows + " of " + band.name;
}

}  // namespace shardplan
