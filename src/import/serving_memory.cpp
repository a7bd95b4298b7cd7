#include "import/serving_memory.h"

#include <array>
#include <utility>

namespace shardplan {
namespace {

PoolRule read_rule(const JsonNode& node) {
  static constexpr std::array<std::pair<const char*, PoolRule>, 3> kRules{
      {{"of_total", PoolRule::kOfTotal},
       {"of_free_before", PoolRule::kOfFreeBefore},
       {"of_free_after", PoolRule::kOfFreeAfter}}};
  const std::string text = node.text();
  for (const auto& [name, rule] : kRules)
    if (text == name) return rule;
  node.fail("bad_value", "no such rule", "of_total, of_free_before or of_free_after");
  return PoolRule::kOfTotal;
}

}  // namespace

std::vector<ServingMemory> read_serving_memories(const JsonNode& root, const Sources& sources) {
  root.allow_only({"engines"});
  std::vector<ServingMemory> engines;
  for (const JsonNode& node : root.at("engines").items()) {
    node.allow_only({"name", "aliases", "rule", "rule_source", "share_flag", "share", "block_tokens"});
    ServingMemory m;
    m.name = node.at("name").text();
    m.aliases = node.at("aliases").texts();
    m.rule = read_rule(node.at("rule"));
    m.rule_source = read_source_id(node.at("rule_source"), sources);
    m.share_flag = node.at("share_flag").text();
    m.share = read_share(node.at("share"), sources);
    m.block = read_sourced<Ratio<>>(node.at("block_tokens"), sources, 1);
    engines.push_back(std::move(m));
  }
  return engines;
}

}  // namespace shardplan
