#include "import/framework_engine.h"

#include <optional>

namespace shardplan {

Framework::Engine read_engine(const JsonNode& node, const Sources& sources) {
  node.allow_only({"schedules", "schedules_source", "precisions", "precisions_source", "shard_groups",
                   "shard_groups_from", "recomputed_layers", "recomputed_groups", "recomputed_modules",
                   "rank_orders", "rank_orders_source", "rank_orders_same_replicas", "whole_sequences",
                   "uneven_ends"});
  Framework::Engine engine;
  engine.schedules.clear();
  for (const JsonNode& item : node.at("schedules").items()) {
    const auto schedule = schedule_named(item.text());
    if (!schedule) {
      item.fail("unknown_name", "no schedule of this name",
                "gpipe, 1f1b, interleaved, zb-h1, zb-v or dualpipe");
      continue;
    }
    engine.schedules.push_back(*schedule);
  }
  engine.schedules_source = read_source_id(node.at("schedules_source"), sources);
  if (const JsonNode precisions = node.find("precisions")) {
    for (const JsonNode& item : precisions.items()) {
      if (const auto recipe = precision_recipe_named(item.text())) {
        engine.precisions.push_back(*recipe);
      } else {
        item.fail("unknown_name", "no precision of this name",
                  "bf16, fp16, fp8, mxfp8, fp8-blockwise or nvfp4");
      }
    }
    engine.precisions_source = read_source_id(node.at("precisions_source"), sources);
  }
  const auto read = [&](const char* key, std::optional<Source>& what) {
    if (const JsonNode id = node.find(key)) what = read_source_id(id, sources);
  };
  read("shard_groups", engine.shard_groups);
  if (const JsonNode stage = node.find("shard_groups_from"))
    engine.shard_groups_from = static_cast<int>(stage.integer(1, 3));
  read("recomputed_layers", engine.recomputed_layers);
  read("recomputed_groups", engine.recomputed_groups);
  read("recomputed_modules", engine.recomputed_modules);
  read("whole_sequences", engine.whole_sequences);
  read("uneven_ends", engine.uneven_ends);
  const JsonNode orders = node.find("rank_orders");
  if (!orders) return engine;
  if (const JsonNode same = node.find("rank_orders_same_replicas"))
    engine.rank_orders_same_replicas = same.boolean();
  read("rank_orders_source", engine.rank_orders_source);
  for (const JsonNode& item : orders.items()) {
    const auto order = rank_order_named(item.text());
    if (!order) {
      item.fail("unknown_name", "no order of the ranks",
                "tp, cp, dp and pp, the innermost first: tp-cp-dp-pp");
    } else if (!order->usual()) {
      engine.rank_orders.push_back(*order);
    }
  }
  return engine;
}

}  // namespace shardplan
