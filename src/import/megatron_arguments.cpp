#include "import/megatron_arguments.h"

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

}  // namespace shardplan
