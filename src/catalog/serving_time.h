// What keeps a serving engine from the speeds of the datasheet: constants of the time of a token.
//
// One set for all engines and devices, and for each engine by how much it differs: few enough that a model, a
// device and an engine which no run was measured of are still predicted. Data: catalog/serving_time.json;
// fitted by tools/fit/serving.py to published runs, with their uncertainty.
//
//   const ServingTime& t = *find_serving_time(catalog, "vllm", "--engine");   // t.law.layer: 41.7 us
//
// Not here: the formulas that use these (cost/serving_time.h), memory.
#pragma once

#include <array>
#include <string>

#include "catalog/communication.h"
#include "catalog/source.h"

namespace shardplan {

struct ServingLaw {
  Sourced<Ratio<>> weights{ratio(1), {}};   // of HBM bandwidth, reading weights
  Sourced<Ratio<>> cache{ratio(1), {}};     // of HBM bandwidth, reading the cache
  Sourced<Seconds<>> step{};                // host and sampler, a step
  Sourced<Seconds<>> layer{};               // kernels of a layer that move little, and the gaps between
  Sourced<Seconds<>> routed_layer{};        // the same, more for a layer of experts
  Sourced<Ratio<>> passes{};                // reads and writes of a token's hidden vector in a layer
  Sourced<Ratio<>> products{ratio(1), {}};  // of the peak, matrix products of many tokens
  Sourced<Ratio<>> routed_products{ratio(1), {}};  // times that, where they are experts'
  Sourced<Ratio<>> scores{ratio(1), {}};           // of the 16-bit peak, attention of a prompt
  Sourced<Ratio<>> exchange{ratio(1), {}};         // of the links' bandwidth, tokens to experts and back
};

/// Calls visit(key, field) for each constant, in the order above. Keys are those of
/// catalog/serving_time.json.
template <class Law, class Visit>
void visit_serving_law(Law& law, Visit visit) {
  visit("weights_share", law.weights);
  visit("cache_share", law.cache);
  visit("step_s", law.step);
  visit("layer_s", law.layer);
  visit("routed_layer_s", law.routed_layer);
  visit("passes", law.passes);
  visit("products_share", law.products);
  visit("routed_products", law.routed_products);
  visit("scores_share", law.scores);
  visit("exchange_share", law.exchange);
}

/// When an engine computes a prompt: beside the tokens of answers that run, or before any of them goes on.
enum class PromptOrder { kBeside, kFirst };

struct ServingTime {
  std::string name;  // of the engine: "vllm"
  ServingLaw law;    // this engine's: the common one times its factors
  PromptOrder order = PromptOrder::kBeside;
  Source order_source;
  Sourced<Seconds<>> eager{};  // more of an all-reduce whose step is not captured
};

}  // namespace shardplan
