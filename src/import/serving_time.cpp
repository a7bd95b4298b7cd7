#include "import/serving_time.h"

namespace shardplan {
namespace {

template <class Q>
void take(const JsonNode& node, const Sources& sources, const char* key, Sourced<Q>& field) {
  field = read_positive<Q>(node.at(key), sources);
}

/// The common constant times an engine's factor.
void times(const JsonNode& node, const Sources& sources, const char* key, auto& field) {
  const Sourced<Ratio<>> factor = read_positive<Ratio<>>(node.at(key), sources);
  field.value = factor.value * field.value;
  field.source = factor.source;
}

ServingTime read_engine(const JsonNode& node, const Sources& sources, const ServingLaw& all) {
  node.allow_only({"name", "cache", "layer", "products", "prompt_order", "prompt_order_source"});
  ServingTime engine;
  engine.name = node.at("name").text();
  engine.law = all;
  times(node, sources, "cache", engine.law.cache);
  times(node, sources, "layer", engine.law.layer);
  times(node, sources, "layer", engine.law.routed_layer);
  times(node, sources, "products", engine.law.products);
  const JsonNode order = node.at("prompt_order");
  if (order.text() == "first") {
    engine.order = PromptOrder::kFirst;
  } else if (order.text() != "beside") {
    order.fail("bad_value", "no such order", "beside or first");
  }
  engine.order_source = read_source_id(node.at("prompt_order_source"), sources);
  return engine;
}

}  // namespace

std::vector<ServingTime> read_serving_times(const JsonNode& root, const Sources& sources) {
  root.allow_only({"all", "eager_s", "engines"});
  ServingLaw all;
  const JsonNode common = root.at("all");
  std::vector<const char*> keys;
  visit_serving_law(all, [&](const char* key, auto&) { keys.push_back(key); });
  common.allow_only(keys);
  visit_serving_law(all, [&](const char* key, auto& field) { take(common, sources, key, field); });
  std::vector<ServingTime> engines;
  const auto eager = read_positive<Seconds<>>(root.at("eager_s"), sources);
  for (const JsonNode& node : root.at("engines").items()) {
    engines.push_back(read_engine(node, sources, all));
    engines.back().eager = eager;
  }
  return engines;
}

}  // namespace shardplan
