#include "import/megatron_arguments.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "units/format.h"

namespace shardplan {
namespace {

constexpr std::int64_t kLayersMax = 100'000;

std::optional<std::int64_t> whole(std::string_view text) {
  const auto value = parse_number(text);
  if (!value || *value != std::floor(*value) || std::fabs(*value) > 1e15) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

}  // namespace

MegatronArguments::MegatronArguments(std::string_view line) {
  // A value may hold spaces ("0:384 200B:768"): an argument ends where the next one starts.
  std::size_t at = line.find("--");
  while (at != std::string_view::npos) {
    const std::size_t next = line.find(" --", at);
    std::string_view one = line.substr(at + 2, next == std::string_view::npos ? next : next - at - 2);
    while (!one.empty() && one.back() == ' ') one.remove_suffix(1);
    const std::size_t equals = one.find_first_of("= ");
    values_[std::string(one.substr(0, equals))] =
        equals == std::string_view::npos ? "" : std::string(one.substr(equals + 1));
    at = next == std::string_view::npos ? next : next + 1;
  }
}

std::string MegatronArguments::text(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? "" : found->second;
}

std::optional<std::int64_t> MegatronArguments::number(const std::string& name, std::int64_t otherwise) const {
  return has(name) ? whole(text(name)) : otherwise;
}

std::optional<std::vector<bool>> moe_layers(const std::string& pattern, std::int64_t layers) {
  std::vector<bool> marks;
  if (const auto every = whole(pattern); every && *every > 0) {
    for (std::int64_t i = 0; i < layers; ++i) marks.push_back(i % *every == 0);
    return marks;
  }
  for (std::size_t at = 0; (at = pattern.find('[', at)) != std::string::npos; ++at) {
    const std::size_t close = pattern.find(']', at);
    if (close != at + 2) return std::nullopt;
    std::int64_t times = 1;
    if (close + 1 < pattern.size() && pattern[close + 1] == '*') {
      const std::size_t end = pattern.find_first_of("+)", close);
      const auto read = whole(pattern.substr(close + 2, end == std::string::npos ? end : end - close - 2));
      if (!read || *read < 0 || *read > kLayersMax) return std::nullopt;
      times = *read;
    }
    marks.insert(marks.end(), static_cast<std::size_t>(times), pattern[at + 1] == '1');
  }
  if (static_cast<std::int64_t>(marks.size()) != layers) return std::nullopt;
  return marks;
}

namespace {

/// One layout letter or group and how often it is repeated: "(tt|)*29", "t*3", "L".
struct LayoutPart {
  std::string_view letters, rest;
  std::int64_t times = 1;
};

std::optional<LayoutPart> next_part(std::string_view text) {
  const bool group = text.front() == '(';
  const std::size_t close = group ? text.find(')') : 0;
  if (close == std::string_view::npos) return std::nullopt;
  LayoutPart part{group ? text.substr(1, close - 1) : text.substr(0, 1), text.substr(close + 1)};
  if (!part.rest.starts_with('*')) return group ? std::nullopt : std::optional(part);
  const std::size_t end = std::min(part.rest.find_first_not_of("0123456789", 1), part.rest.size());
  const auto times = whole(part.rest.substr(1, end - 1));
  if (!times || *times < 0 || *times > kLayersMax) return std::nullopt;
  part.times = *times;
  part.rest.remove_prefix(end);
  return part;
}

}  // namespace

std::optional<std::vector<PipelineChunk>> pipeline_layout(std::string_view text) {
  std::vector<PipelineChunk> chunks(1);
  std::int64_t embeddings = 0, losses = 0, letters = 0;
  while (!text.empty()) {
    const auto part = next_part(text);
    if (!part) return std::nullopt;
    text = part->rest;
    for (std::int64_t i = 0; i < part->times; ++i) {
      for (const char c : part->letters) {
        if (++letters > kLayersMax) return std::nullopt;
        if (c == '|') {
          chunks.emplace_back();
        } else if (c == 't') {
          ++chunks.back().layers;
        } else if (c == 'm') {
          ++chunks.back().prediction_layers;
        } else if (c == 'E') {
          ++embeddings;
        } else if (c == 'L') {
          ++losses;
        } else if (c != ',') {
          return std::nullopt;
        }
      }
    }
  }
  if (embeddings != 1 || losses != 1) return std::nullopt;
  return chunks;
}

}  // namespace shardplan
