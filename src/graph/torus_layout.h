// How the ranks of a group lie on a torus: how many along each axis, how far apart, and whether they close.
//
// Ranks follow the axes, the innermost first: rank r of a slice of 4x4x8 is chip (r mod 4, r/4 mod 4, r/16).
// A group that is every second chip of an axis shares the axis's links with the one beside it, as the groups
// of a kind all run at once; a part of an axis is a line, whatever the axis is.
//
//   torus_layout(torus, {1, 8})    // of 4x4x8: a ring of 4, and a line of 2 of the next axis
//   torus_layout(torus, {16, 8})   // a ring of 8
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "catalog/torus.h"
#include "graph/placement.h"

namespace shardplan {

/// Ranks of a group along one axis.
struct TorusAxis {
  std::int64_t ranks = 1;
  std::int64_t step = 1;  // chips from one to the next; so many groups share each link
  bool ring = false;
};

using TorusLayout = std::array<TorusAxis, kTorusAxes>;

/// Of the ranks inside one slice. A group that does not follow the axes is laid on no fewer links than it
/// has: what is left over goes to the outermost axis.
inline TorusLayout torus_layout(const Torus& torus, const Group& group) {
  TorusLayout layout{};
  std::int64_t stride = std::max<std::int64_t>(group.stride, 1), left = group.count;
  for (std::size_t i = 0; i < kTorusAxes; ++i) {
    const std::int64_t extent = torus.extents[i];
    if (stride >= extent) {
      stride = (stride + extent - 1) / extent;
      continue;
    }
    TorusAxis& axis = layout[i];
    axis.step = stride;
    axis.ranks = std::clamp<std::int64_t>(extent / stride, 1, left);
    axis.ring = torus.rings[i] && axis.ranks * axis.step == extent;
    left = (left + axis.ranks - 1) / axis.ranks;
    stride = 1;
  }
  if (left > 1) {
    TorusAxis& last = layout[static_cast<std::size_t>(std::max<std::int64_t>(torus.axes, 1) - 1)];
    last.ranks *= left;
    last.ring = false;
  }
  return layout;
}

/// Whether the group keeps every axis it touches whole, so that its links close everywhere.
inline bool all_rings(const TorusLayout& layout) {
  return std::all_of(layout.begin(), layout.end(),
                     [](const TorusAxis& axis) { return axis.ranks <= 1 || axis.ring; });
}

}  // namespace shardplan
