// Numbers of the catalog with their source: {"value": 25e9, "source": "id of sources.json", "note": "why"}.
//
//   f.latency = read_sourced<Seconds<>>(node.at("latency_s"), catalog.sources, 0);
//
// Private to import/.
#pragma once

#include <map>
#include <string>

#include "catalog/source.h"
#include "import/json_node.h"

namespace shardplan {

using Sources = std::map<std::string, Source>;
inline constexpr double kNoLimit = 1e30;

std::optional<SourceKind> source_kind_named(const std::string& text);
/// The source that a node names; a complaint with the nearest id where there is none.
Source read_source_id(const JsonNode& node, const Sources& sources);

/// Reads {"value", "source", "note"} where the caller has said which other keys may be there.
template <class Q>
Sourced<Q> read_number(const JsonNode& node, const Sources& sources, double low, double high) {
  if (node.json() == nullptr) return {};
  if (!node.is_object()) {
    node.fail("missing_source", "a number without source", R"({"value": number, "source": "id"})");
    return {};
  }
  Sourced<Q> number{Q(node.at("value").number(low, high)), read_source_id(node.at("source"), sources)};
  if (const JsonNode note = node.find("note")) number.source.note = note.text();
  return number;
}

template <class Q>
Sourced<Q> read_sourced(const JsonNode& node, const Sources& sources, double low, double high = kNoLimit) {
  if (node.is_object()) node.allow_only({"value", "source", "note"});
  return read_number<Q>(node, sources, low, high);
}

/// Above zero: a bandwidth, a size.
template <class Q>
Sourced<Q> read_positive(const JsonNode& node, const Sources& sources) {
  return read_sourced<Q>(node, sources, 1e-12);
}

inline Sourced<Ratio<>> read_share(const JsonNode& node, const Sources& sources) {
  return read_sourced<Ratio<>>(node, sources, 1e-6, 1.0);
}

}  // namespace shardplan
