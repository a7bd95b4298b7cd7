#include "catalog/torus.h"

#include <algorithm>
#include <charconv>

namespace shardplan {
namespace {

using Extents = std::array<std::int64_t, kTorusAxes>;

std::int64_t product(const Extents& extents) { return extents[0] * extents[1] * extents[2]; }

Extents ascending(Extents extents) {
  std::sort(extents.begin(), extents.end());
  return extents;
}

/// Axes of one chip last, as 2x2x1 is written.
Extents ones_last(Extents sorted) {
  std::rotate(sorted.begin(), std::find_if(sorted.begin(), sorted.end(), [](auto e) { return e > 1; }),
              sorted.end());
  return sorted;
}

bool whole_cubes(const TorusPod& pod, const Extents& extents) {
  return pod.cube > 0 && std::all_of(extents.begin(), extents.end(),
                                     [&](std::int64_t extent) { return extent % pod.cube == 0; });
}

/// Switches join cubes in any shape; without them a slice is cut from the pod as it lies.
bool fits(const TorusPod& pod, const Extents& extents) {
  if (whole_cubes(pod, extents)) return product(extents) <= product(pod.extents);
  const Extents room = ascending(pod.extents), need = ascending(extents);
  for (std::size_t i = 0; i < kTorusAxes; ++i) {
    if (need[i] < 1 || need[i] > room[i]) return false;
  }
  return true;
}

bool power_of_two(std::int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

/// Whole cubes; or less than one, halved along its axes.
bool is_offered(const TorusPod& pod, const Extents& extents) {
  if (!fits(pod, extents)) return false;
  if (whole_cubes(pod, extents)) return true;
  return std::all_of(extents.begin(), extents.end(), [&](std::int64_t extent) {
    return power_of_two(extent) && (pod.cube == 0 || extent <= pod.cube);
  });
}

Torus slice(const TorusPod& pod, const Extents& extents) {
  Torus torus;
  torus.extents = extents;
  torus.axes = pod.axes();
  torus.offered = is_offered(pod, extents);
  const std::int64_t edge = *std::max_element(pod.extents.begin(), pod.extents.end());
  for (std::size_t i = 0; i < kTorusAxes; ++i) {
    torus.rings[i] = pod.cube > 0 ? whole_cubes(pod, extents) : extents[i] == edge;
  }
  return torus;
}

}  // namespace

std::int64_t TorusPod::axes() const {
  return std::count_if(extents.begin(), extents.end(), [](std::int64_t extent) { return extent > 1; });
}

std::optional<Torus> slice_of(const TorusPod& pod, const Extents& extents) {
  if (!fits(pod, extents)) return std::nullopt;
  return slice(pod, extents);
}

Torus most_cubic(const TorusPod& pod, std::int64_t chips) {
  const std::int64_t first_most = pod.axes() == 2 ? 1 : chips;
  std::optional<Torus> best;
  const auto sum = [](const Torus& t) { return t.extents[0] + t.extents[1] + t.extents[2]; };
  for (std::int64_t a = 1; a <= first_most && a * a * a <= chips; ++a) {
    if (chips % a != 0) continue;
    for (std::int64_t b = a; a * b * b <= chips; ++b) {
      if (chips / a % b != 0) continue;
      const Torus torus = slice(pod, ones_last({a, b, chips / a / b}));
      const bool better = !best || (torus.offered && !best->offered) ||
                          (torus.offered == best->offered && sum(torus) < sum(*best));
      if (better) best = torus;
    }
  }
  return *best;  // 1 x 1 x chips is one
}

std::string shape_text(const Torus& torus) {
  std::string text = std::to_string(torus.extents[0]);
  for (std::int64_t i = 1; i < torus.axes; ++i)
    text += "x" + std::to_string(torus.extents[static_cast<std::size_t>(i)]);
  return text;
}

std::optional<Extents> extents_of(std::string_view text) {
  constexpr std::int64_t kMost = 1 << 20;
  Extents extents{1, 1, 1};
  for (std::size_t i = 0; i < kTorusAxes; ++i) {
    const std::size_t end = std::min(text.find('x'), text.size());
    const auto [stop, error] = std::from_chars(text.data(), text.data() + end, extents[i]);
    if (error != std::errc{} || stop != text.data() + end || extents[i] < 1 || extents[i] > kMost)
      return std::nullopt;
    if (end == text.size()) return i == 0 ? std::nullopt : std::optional(extents);
    text.remove_prefix(end + 1);
  }
  return std::nullopt;  // more axes than there can be
}

}  // namespace shardplan
