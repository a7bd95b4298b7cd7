#include "import/serving_memory.h"

#include <array>
#include <utility>

namespace shardplan {
namespace {

constexpr std::int64_t kBatchMost = 65536;

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

/// Runs of batches, each as [first, step, last].
std::vector<std::int64_t> read_captured(const JsonNode& node) {
  std::vector<std::int64_t> batches;
  if (!node) return batches;
  for (const JsonNode& run : node.items()) {
    const std::vector<JsonNode> ends = run.items();
    constexpr std::size_t kEnds = 3;
    if (ends.size() != kEnds) {
      run.fail("bad_value", "not a run of batches", "[first, step, last]");
      return batches;
    }
    const std::int64_t first = ends[0].integer(1, kBatchMost), step = ends[1].integer(1, kBatchMost),
                       last = ends[2].integer(1, kBatchMost);
    for (std::int64_t batch = first; step > 0 && batch <= last; batch += step) batches.push_back(batch);
  }
  return batches;
}

ServingMemory read_engine(const JsonNode& node, const Sources& sources) {
  node.allow_only({"name", "aliases", "rule", "rule_source", "share_flag", "share", "block_tokens",
                   "requests", "small_requests", "large_bytes", "prompt_tokens", "sampler_bytes",
                   "outside_one_bytes", "outside_several_bytes", "graphs_bytes", "captured",
                   "captured_source"});
  ServingMemory m;
  m.name = node.at("name").text();
  m.aliases = node.at("aliases").texts();
  m.rule = read_rule(node.at("rule"));
  m.rule_source = read_source_id(node.at("rule_source"), sources);
  m.share_flag = node.at("share_flag").text();
  m.share = read_share(node.at("share"), sources);
  m.block = read_sourced<Ratio<>>(node.at("block_tokens"), sources, 1);
  m.requests = read_sourced<Ratio<>>(node.find("requests"), sources, 1);
  m.small_requests = read_sourced<Ratio<>>(node.find("small_requests"), sources, 1);
  m.large = read_sourced<Bytes<>>(node.find("large_bytes"), sources, 0);
  m.prompt_tokens = read_sourced<Ratio<>>(node.find("prompt_tokens"), sources, 1);
  m.sampler = read_sourced<Bytes<>>(node.find("sampler_bytes"), sources, 0);
  m.outside_one = read_sourced<Bytes<>>(node.find("outside_one_bytes"), sources, 0);
  m.outside_several = read_sourced<Bytes<>>(node.find("outside_several_bytes"), sources, 0);
  m.graphs = read_sourced<Bytes<>>(node.find("graphs_bytes"), sources, 0);
  m.captured = read_captured(node.find("captured"));
  if (const JsonNode source = node.find("captured_source"))
    m.captured_source = read_source_id(source, sources);
  return m;
}

}  // namespace

std::vector<ServingMemory> read_serving_memories(const JsonNode& root, const Sources& sources) {
  root.allow_only({"engines"});
  std::vector<ServingMemory> engines;
  for (const JsonNode& node : root.at("engines").items()) engines.push_back(read_engine(node, sources));
  return engines;
}

}  // namespace shardplan
