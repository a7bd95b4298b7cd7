// The list of all formulas, and what a type must offer to be on it.
//
// `FormulaList<RingAllReduce, ...>` does not compile when one of them lacks a citation, a unit-carrying
// result, a worked example, or a symbol for each input. Everything that walks all formulas (example tests,
// Traced == double, the reference, the citation check) uses `for_each`. The one list is estimate/formulas.h.
#pragma once

#include <concepts>

#include "formula/citations.h"
#include "formula/formula.h"

namespace shardplan {

template <class F>
concept Formula = requires(typename F::template In<double> in) {
  { F::info } -> std::convertible_to<const FormulaInfo&>;
  {F::eval(in)};
  { F::symbols.size() } -> std::convertible_to<std::size_t>;
  { F::examples.size() } -> std::convertible_to<std::size_t>;
};

template <class F>
consteval bool is_documented() {
  return !F::info.id.empty() && !F::info.title.empty() && !F::info.assumes.empty() &&
         !F::info.citation.where.empty() && is_known_work(F::info.citation.id) && F::examples.size() > 0 &&
         !F::examples[0].from.empty() &&
         F::symbols.size() == detail::field_count<typename F::template In<double>>();
}

template <Formula... F>
struct FormulaList {
  static_assert(
      (is_documented<F>() && ...),
      "every formula needs an id, a title, a known citation with its place, an assumption, a worked example, "
      "and one symbol for each input");
  static constexpr std::size_t size = sizeof...(F);
  /// Calls `visit.template operator()<F>()` for each formula, in the order of the list.
  template <class Visit>
  static constexpr void for_each(Visit visit) {
    (visit.template operator()<F>(), ...);
  }
};

}  // namespace shardplan
