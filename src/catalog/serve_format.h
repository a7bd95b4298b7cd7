// In which format a replica keeps its weights: as its checkpoint stores them, or as a person says.
//
//   ServeFormat f = stored_format(model, device);      // gpt-oss: experts of 4.25 bits, all else of 16
//   auto told = told_format("fp8", model, device);     // linear layers of 8 bits, head and norms of 16
//
// A checkpoint's list of modules that are not converted is obeyed, layer by layer; bits are the mean over a
// kind of weights, scales of blocks included. Not here: how many of them a GPU has (estimate/serve_shape.h).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/device.h"
#include "catalog/parameters.h"
#include "catalog/serving.h"

namespace shardplan {

/// Kinds of weights that a replica keeps in one format each.
enum class WeightKind { kAttention, kMlp, kExperts, kOther };
inline constexpr std::size_t kWeightKindCount = 4;
/// "attention", "MLP", "experts", "head, embeddings, norms, routers"
const char* name(WeightKind kind);
WeightKind kind_of(const Weight& weight);
double bits_of(const ServeFormat& format, WeightKind kind);

ServeFormat stored_format(const Model& model, const Device& device);

/// Nothing for a name that is none of serve_format_names().
std::optional<ServeFormat> told_format(std::string_view name, const Model& model, const Device& device);
std::vector<std::string> serve_format_names();

/// Whether a checkpoint's list keeps the module of a layer's weight in the checkpoint's own format.
bool kept_as_is(const std::vector<std::string>& not_converted, const Weight& weight, std::size_t layer);

}  // namespace shardplan
