#include "import/sourced_json.h"

#include "import/json_text.h"

namespace shardplan {

std::optional<SourceKind> source_kind_named(const std::string& text) {
  for (const SourceKind kind : {SourceKind::kDatasheet, SourceKind::kMeasured, SourceKind::kPublished,
                                SourceKind::kFitted, SourceKind::kAssumed, SourceKind::kStandard}) {
    if (text == name(kind)) return kind;
  }
  return std::nullopt;
}

Source read_source_id(const JsonNode& node, const Sources& sources) {
  const std::string id = node.text();
  const auto found = sources.find(id);
  if (found != sources.end()) return found->second;
  std::vector<std::string> ids;
  for (const auto& [known, source] : sources) ids.push_back(known);
  if (node)
    node.fail("unknown_source", "no source \"" + id + "\"", "a key of sources.json", nearest_name(id, ids));
  return {};
}

}  // namespace shardplan
