// The torus that joins the chips of a TPU slice: how many along each axis, and which axes close to a ring.
//
//   Torus t = most_cubic(*device.scale_up.torus, 128);   // TPU v5p: 4x4x8, every axis a ring
//   t = most_cubic(*device.scale_up.torus, 32);          // 2x4x4, no ring: less than a cube of 4x4x4
//
// Not here: where the ranks of a group lie on it (graph/torus_layout.h), what a collective costs over it
// (cost/torus_collectives.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "catalog/source.h"

namespace shardplan {

inline constexpr std::size_t kTorusAxes = 3;

/// A whole pod, and how slices may be cut from it. Data of catalog/devices.json.
struct TorusPod {
  std::array<std::int64_t, kTorusAxes> extents{1, 1, 1};  // ascending; 1 where there is no third axis
  /// Edge of the cubes that optical switches join: whole cubes close on every axis. 0: an axis closes where
  /// it is as long as the pod's.
  std::int64_t cube = 0;
  Source source;
  std::int64_t axes() const;
};

/// A slice, innermost axis first.
struct Torus {
  std::array<std::int64_t, kTorusAxes> extents{1, 1, 1};
  std::array<bool, kTorusAxes> rings{};
  std::int64_t axes = 0;  // of the pod: each chip has two links for each, used or not
  bool offered = false;   // a shape that can be requested
  bool told = false;      // by a person
  std::int64_t chips() const { return extents[0] * extents[1] * extents[2]; }
};

/// The slice of these extents; nothing where it does not fit in the pod.
std::optional<Torus> slice_of(const TorusPod& pod, const std::array<std::int64_t, kTorusAxes>& extents);
/// The shape of `chips` whose extents differ least, of those that can be requested if there is one.
Torus most_cubic(const TorusPod& pod, std::int64_t chips);

/// "4x4x8"; "16x16" where there are two axes.
std::string shape_text(const Torus& torus);
/// The extents of such a text; nothing where it is none.
std::optional<std::array<std::int64_t, kTorusAxes>> extents_of(std::string_view text);

}  // namespace shardplan
