// Remedies as text and as JSON, for every answer that names some.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reason/remedies.h"
#include "report/json_values.h"

namespace shardplan {

/// How many an answer prints of those that train the same; it holds them all. Those that train differently
/// are a handful, each another kind of change, and all printed.
inline constexpr std::size_t kRemediesShown = 3;

/// Tables with their head lines, and what offloading would need of a host; `joined` = what an allocator
/// setting alone would give back.
std::string remedy_lines(const std::vector<Remedy>& remedies, std::optional<Bytes<>> joined = std::nullopt);
Json remedies_json(const std::vector<Remedy>& remedies, std::optional<Bytes<>> joined = std::nullopt);
/// "2 x 786 MiB of logits in fp32".
std::string tensor_words(const Tensor& tensor);
Json tensor_json(const Tensor& tensor);

}  // namespace shardplan
