// Which chunks and stages of a pipeline are alike: what is computed for one of them holds for the others.
//
// Chunks are alike when they hold the same kinds of layers in the same order. A model of equal layers cut
// evenly has one profile; one that does not divide has two.
//
//   const PipelineShape shape = pipeline_shape(kinds, plan);
//   shape.profile_of_chunk[c];   // index of the chunk's profile
//   shape.stages;                // one of them keeps the most memory
#pragma once

#include <cstdint>
#include <vector>

#include "graph/layer_ops.h"
#include "graph/stages.h"

namespace shardplan {

struct PipelineShape {
  std::vector<LayerRange> profiles;  // each the layers of the first chunk that has it
  std::vector<std::uint16_t> profile_of_chunk;
  /// Of the stages that hold alike chunks and neither end of the model, the first, and both ends: a later
  /// stage has no more micro-batches in flight. All of them under ZB-V, where it may.
  std::vector<int> stages;
};

PipelineShape pipeline_shape(const LayerKinds& kinds, const Plan& plan);

}  // namespace shardplan
