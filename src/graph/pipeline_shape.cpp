#include "graph/pipeline_shape.h"

#include <algorithm>

namespace shardplan {
namespace {

bool alike(const LayerKinds& kinds, const LayerRange& a, const LayerRange& b) {
  const auto at = [&](std::int64_t layer) { return kinds.kind_of_layer.begin() + layer; };
  return a.count() == b.count() &&
         (kinds.kinds.size() == 1 || std::equal(at(a.first), at(a.last), at(b.first)));
}

bool alike_stages(const Plan& plan, const PipelineShape& shape, int a, int b) {
  if (holds_first_chunk(plan, a) != holds_first_chunk(plan, b)) return false;
  if (holds_last_chunk(plan, a) != holds_last_chunk(plan, b)) return false;
  for (int i = 0; i < chunks_of_rank(plan); ++i) {
    const auto profile = [&](int stage) {
      return shape.profile_of_chunk[static_cast<std::size_t>(rank_chunk(plan, stage, i))];
    };
    if (profile(a) != profile(b)) return false;
  }
  return true;
}

}  // namespace

PipelineShape pipeline_shape(const LayerKinds& kinds, const Plan& plan) {
  const auto layers = static_cast<std::int64_t>(kinds.kind_of_layer.size());
  PipelineShape shape;
  shape.profile_of_chunk.reserve(static_cast<std::size_t>(all_chunks(plan)));
  for (std::int64_t chunk = 0; chunk < all_chunks(plan); ++chunk) {
    const LayerRange range = chunk_layers(layers, plan, chunk);
    auto found = std::find_if(shape.profiles.begin(), shape.profiles.end(),
                              [&](const auto& profile) { return alike(kinds, profile, range); });
    if (found == shape.profiles.end()) found = shape.profiles.insert(found, range);
    shape.profile_of_chunk.push_back(static_cast<std::uint16_t>(found - shape.profiles.begin()));
  }
  for (int stage = 0; stage < plan.pp; ++stage) {
    // Of alike stages the first has most in flight, but under ZB-V: there it may be any.
    const bool seen = plan.schedule != Schedule::kZbV &&
                      std::any_of(shape.stages.begin(), shape.stages.end(),
                                  [&](int other) { return alike_stages(plan, shape, other, stage); });
    if (!seen) shape.stages.push_back(stage);
  }
  return shape;
}

}  // namespace shardplan
