#include "estimate/serve_memory.h"

#include <algorithm>

#include "catalog/parameters.h"
#include "cost/serving_memory.h"

namespace shardplan {
namespace {

constexpr double kBitsOfByte = 8;

double edge_bytes(const Model& model, const ServeSplit& split, const ServeFormat& format) {
  double bytes = 0;
  for (const Weight& weight : edge_weights(model)) {
    // The head is among the weights that a step reads.
    if (std::string_view(weight.name) == "head") continue;
    const double parts = weight.cut == Cut::kTensor ? static_cast<double>(split.tensor) : 1;
    bytes += static_cast<double>(weight.parameters) / parts * format.head_bits / kBitsOfByte;
  }
  // Tied to the head, the table is there once.
  if (model.tied_embeddings)
    bytes -= static_cast<double>(model.vocab * model.hidden) / static_cast<double>(split.tensor) *
             format.head_bits / kBitsOfByte;
  return bytes;
}

}  // namespace

ServeMemory serve_memory(const Model& model, const ServeSplit& split, const ServeFormat& format) {
  const ServeShape shape(model, split, format);
  const double stages = static_cast<double>(split.pipeline);
  // The shape counts the head once a stage, as every stage of a token's way is followed by the next.
  const double head = static_cast<double>(model.vocab * model.hidden) / static_cast<double>(split.tensor) *
                      format.head_bits / kBitsOfByte;
  const double read = shape.fixed_bytes + shape.expert_bytes - head * (stages - 1);
  ServeMemory m;
  m.weights = bytes((read + edge_bytes(model, split, format)) / stages);
  for (const ServeShape::Cache& cache : shape.caches) {
    Bytes<>& part = cache.window > 0 ? m.windowed : m.token;
    part += bytes(cache.token_bytes / stages);
  }
  m.sequence = bytes(shape.state_bytes / stages);
  return m;
}

Bytes<> cache_pool(Bytes<> memory, Ratio<> share, Bytes<> weights, Bytes<> peak, Bytes<> outside) {
  return call<CachePool>(CachePool::In<double>{memory, share, weights, peak, outside});
}

Ratio<> pool_tokens(const ServingMemory& engine, Bytes<> pool, const ServeMemory& memory) {
  if (!(pool > bytes(0))) return ratio(0);
  // Layers with a window take pages like the others.
  return call<PoolTokens>(PoolTokens::In<double>{pool, memory.token + memory.windowed, engine.block.value});
}

}  // namespace shardplan
