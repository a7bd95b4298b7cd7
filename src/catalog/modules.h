// Which parts of its layers a model can run again in the backward pass, and the sets of them.
//
//   has_module(model, Module::kMlaUpProjection)   // multi-head latent attention somewhere
//   module_sets(model)                            // {layernorm}, {core_attn, layernorm}, {mlp}, ...
#pragma once

#include <cstdint>
#include <vector>

#include "catalog/model.h"
#include "catalog/plan.h"

namespace shardplan {

bool has_module(const Model& model, Module module);

/// All that differ, as bits, but none and core attention alone, which have names of their own. Experts that
/// are run again whole have their activation and the shared experts in it.
std::vector<std::uint8_t> module_sets(const Model& model);

}  // namespace shardplan
