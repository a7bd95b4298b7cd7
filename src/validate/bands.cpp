#include "validate/bands.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include "units/format.h"

namespace shardplan {
namespace {

double four_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return std::strtod(text, nullptr);
}

struct Grouping {
  const char* of;
  std::string (*name)(const ValidatedRow& row);
  const char* kind;  // of validation
};
constexpr Grouping kGroupings[] = {
    {"gpu", [](const ValidatedRow& row) { return row.profile.device; }, kTimeBand},
    {"architecture", [](const ValidatedRow& row) { return row.profile.architecture; }, kTimeBand},
    {"framework", [](const ValidatedRow& row) { return row.framework; }, kMemoryBand},
    // Dense models, mixtures, small ones, disaggregated runs.
    {"class", [](const ValidatedRow& row) { return row.features.front(); }, kServingBand},
};

void add_bands(const Validation& validation, const Grouping& grouping, std::vector<ErrorBand>& bands) {
  std::map<std::string, std::vector<double>> groups;
  for (const ValidatedRow& row : validation.rows) {
    groups[grouping.name(row)].push_back(row.measured / row.left_out.value_or(row.predicted));
  }
  const bool time = validation.kind != kMemoryBand;
  const auto end = [&](const std::vector<double>& ratios, double share) {
    return four_digits(time ? quantile(ratios, share) : prediction_bound(ratios, share));
  };
  const double low = (1 - (time ? kTimeBandShare : kMemoryBandShare)) / 2;
  for (const auto& [name, ratios] : groups) {
    if (ratios.size() < kBandRowsMin || name == "generic") continue;
    bands.push_back({validation.kind, grouping.of, name, static_cast<std::int64_t>(ratios.size()),
                     end(ratios, low), end(ratios, 1 - low)});
  }
}

}  // namespace

double prediction_bound(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double last = static_cast<double>(values.size() - 1);
  const double at = std::clamp((last + 2) * share - 1, 0.0, last);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - std::floor(at)) * (values[above] - values[below]);
}

void take_left_out(const CsvTable& table, Validation& validation) {
  std::map<std::string, double> predicted;
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (const auto value = parse_number(table.at(i, "left_out_s"))) predicted[table.at(i, "id")] = *value;
  }
  for (ValidatedRow& row : validation.rows) {
    const auto found = predicted.find(row.id);
    if (found != predicted.end() && found->second > 0) row.left_out = found->second;
  }
}

Evidence evidence_of(const Validation& validation) {
  Evidence evidence;
  for (const Grouping& grouping : kGroupings) {
    if (validation.kind == grouping.kind) add_bands(validation, grouping, evidence.bands);
  }
  if (validation.kind == kMemoryBand) return evidence;
  for (const ValidatedRow& row : validation.rows) {
    evidence.runs.push_back(
        {row.id, row.citation, row.profile, seconds(row.measured), seconds(four_digits(row.predicted))});
  }
  return evidence;
}

}  // namespace shardplan
