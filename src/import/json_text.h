// Text files and JSON as people really have them, read with hard limits; errors point at line and column.
//
//   Result<nlohmann::json> j = parse_json("{\"time_step_limit\": [0.0, Infinity]}", "config.json");
//   parse_json("{\"a\": 1, \"a\": 2}", "x.json").error().where   // "x.json:1:10"
//
// Accepted beyond the standard: Infinity, -Infinity and NaN, which Python's json module writes. Refused: a
// second value for a key, nesting beyond 64, texts over 16 MiB, invalid UTF-8. Not here: what the keys mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/result.h"

namespace shardplan {

inline constexpr std::int64_t kJsonBytesMax = std::int64_t{16} << 20;
inline constexpr int kJsonDepthMax = 64;
inline constexpr std::size_t kOrderedKeysMax = 1000;

Result<nlohmann::json> parse_json(std::string_view text, std::string_view where);
/// The same, each object's keys as they were written, of which it may have kOrderedKeysMax.
Result<nlohmann::ordered_json> parse_ordered_json(std::string_view text, std::string_view where);

/// The whole file, or an error before anything beyond max_bytes is read. Only regular files.
Result<std::string> read_text_file(const std::string& path, std::int64_t max_bytes = kJsonBytesMax);

/// The name that a misspelt one most likely meant, letter case ignored, else the only one that starts so;
/// or "".
std::string nearest_name(std::string_view name, const std::vector<std::string>& names);

}  // namespace shardplan
