#include "reason/nearest_measured.h"

#include <algorithm>
#include <cmath>

namespace shardplan {
namespace {

double doublings(double a, double b) { return std::fabs(std::log2(a / b)); }

}  // namespace

double run_distance(const RunProfile& a, const RunProfile& b) {
  const int others = int{a.device != b.device} + int{a.architecture != b.architecture} +
                     int{a.precision != b.precision} + int{a.framework != b.framework};
  return doublings(a.parameters, b.parameters) + doublings(a.gpus, b.gpus) +
         doublings(a.tokens_per_gpu, b.tokens_per_gpu) + others;
}

std::vector<NearRun> nearest_measured(const Evidence& evidence, const RunProfile& run, std::size_t most) {
  std::vector<NearRun> near;
  for (const MeasuredRun& measured : evidence.runs) {
    if (measured.profile.experts == run.experts)
      near.push_back({measured, run_distance(measured.profile, run)});
  }
  // Stable: the order of the file decides between runs that are equally near.
  std::stable_sort(near.begin(), near.end(),
                   [](const NearRun& a, const NearRun& b) { return a.distance < b.distance; });
  near.resize(std::min(near.size(), most));
  return near;
}

}  // namespace shardplan
