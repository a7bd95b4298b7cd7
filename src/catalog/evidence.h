// What measured runs say of predictions: error bands, and the runs that were timed, each with its prediction.
//
//   const ErrorBand* band = find_band(evidence, kTimeBand, "megatron", device);   // null: no run applies
//   band->low * predicted, band->high * predicted   // 8 in 10 measured times lay between
//
// Data: catalog/evidence_*.json, which `shardplan validate --bands` makes and tools/check_generated.sh keeps
// fresh. Not here: how a row is predicted (validate/), which runs are near a plan
// (reason/nearest_measured.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/question.h"

namespace shardplan {

inline constexpr const char* kTimeBand = "training-time";
/// Of serving the time of an output token.
inline constexpr const char* kServingBand = "serving-tpot";
/// The peak of bytes that the allocator has handed out.
inline constexpr const char* kMemoryBand = "training-memory";

/// How many of the measured values a band of times holds, and one of memory.
/// A run that does not fit costs a queue and a restart, so memory's is the customary 95 in 100.
inline constexpr double kTimeBandShare = 0.8, kMemoryBandShare = 0.95;

/// Where measured values lie beside predicted ones, over all rows that share a GPU, an architecture, ...
struct ErrorBand {
  std::string kind;       // kTimeBand, kMemoryBand
  std::string of;         // "gpu", "architecture" or "framework": what the rows share
  std::string name;       // "h100-sxm"; empty for all
  std::int64_t rows = 0;  // measured values
  double low_ratio = 1,
         high_ratio = 1;  // of measured / predicted (validate/bands.h says which quantiles)
  double low(double predicted) const { return low_ratio * predicted; }
  double high(double predicted) const { return high_ratio * predicted; }
};

/// A run as far as others are compared with it.
struct RunProfile {
  std::string model, framework, device, architecture, precision;
  bool experts = false;
  double parameters = 0, gpus = 0, tokens_per_gpu = 0;
};
RunProfile run_profile(const Question& question, const Plan& plan);
/// "llama3-70b (70.55 B) on 64 x h100-sxm, fp8"; the parameters tell a published slice from the whole
std::string title(const RunProfile& run);

/// A run that was timed and published. `predicted` is this program's own step for it.
struct MeasuredRun {
  std::string id;
  std::string source;  // where it is printed
  RunProfile profile;
  Seconds<> measured, predicted;
};

struct Evidence {
  std::vector<ErrorBand> bands;
  std::vector<MeasuredRun> runs;
};

/// The narrowest band that has enough rows. Times are a GPU's, else its architecture's; memory is a
/// framework's. Null: no measured run is of that kind, and no band is claimed.
const ErrorBand* find_band(const Evidence& evidence, std::string_view kind, std::string_view framework,
                           const Device& device);

/// How likely a further run's memory is inside a band of so many rows: their extremes hold (n - 1) / (n + 1).
double memory_band_share(const ErrorBand& band);

/// "84 measured runs on h100-sxm"
std::string rows_text(const ErrorBand& band);
/// "0.91": a band is no sharper.
std::string ratio_text(double ratio);
/// "0.94 to 1.33 times"
std::string range_text(const ErrorBand& band);

}  // namespace shardplan
