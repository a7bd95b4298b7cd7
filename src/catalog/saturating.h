// Counting that cannot wrap around: products and sums stay at kCountMax once they pass it.
//
//   product(4096, 14336, 3)               // 176,160,768
//   product(kCountMax, 2) == kCountMax    // "too many to count", which an importer refuses
//
// For non-negative counts only.
#pragma once

#include <cstdint>
#include <limits>

namespace shardplan {

inline constexpr std::int64_t kCountMax = std::numeric_limits<std::int64_t>::max();

constexpr std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? kCountMax : out;
}
template <class... Rest>
constexpr std::int64_t product(std::int64_t a, std::int64_t b, Rest... rest) {
  return product(product(a, b), rest...);
}

constexpr std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? kCountMax : out;
}
template <class... Rest>
constexpr std::int64_t sum(std::int64_t a, std::int64_t b, Rest... rest) {
  return sum(sum(a, b), rest...);
}

}  // namespace shardplan
