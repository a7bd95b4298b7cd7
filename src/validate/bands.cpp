#include "validate/bands.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

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
  bool of_memory;
};
constexpr Grouping kGroupings[] = {
    {"gpu", [](const ValidatedRow& row) { return row.profile.device; }, false},
    {"architecture", [](const ValidatedRow& row) { return row.profile.architecture; }, false},
    {"framework", [](const ValidatedRow& row) { return row.framework; }, true},
};

void add_bands(const Validation& validation, const Grouping& grouping, std::vector<ErrorBand>& bands) {
  std::map<std::string, std::vector<double>> groups;
  for (const ValidatedRow& row : validation.rows) {
    groups[grouping.name(row)].push_back(row.measured / row.predicted);
  }
  const double low = (1 - (validation.kind == kTimeBand ? kTimeBandShare : kMemoryBandShare)) / 2;
  for (const auto& [name, ratios] : groups) {
    if (ratios.size() < kBandRowsMin || name == "generic") continue;
    bands.push_back({validation.kind, grouping.of, name, static_cast<std::int64_t>(ratios.size()),
                     four_digits(quantile(ratios, low)), four_digits(quantile(ratios, 1 - low))});
  }
}

}  // namespace

Evidence evidence_of(const Validation& validation) {
  Evidence evidence;
  const bool time = validation.kind == kTimeBand;
  for (const Grouping& grouping : kGroupings) {
    if (time != grouping.of_memory) add_bands(validation, grouping, evidence.bands);
  }
  if (!time) return evidence;
  for (const ValidatedRow& row : validation.rows) {
    evidence.runs.push_back(
        {row.id, row.citation, row.profile, seconds(row.measured), seconds(four_digits(row.predicted))});
  }
  return evidence;
}

}  // namespace shardplan
