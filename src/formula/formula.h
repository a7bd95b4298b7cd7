// What a formula is, and the only way to use one.
//
// A formula is a type with one body and several readings:
//
//   struct RingAllReduce {
//     static constexpr FormulaInfo info{"comm.ring.allreduce", "ring all-reduce", {"thakur2005", "ring"},
//                                       "full-duplex links, no contention"};
//     template <class N> struct In { using Number = N; Bytes<N> size; Ratio<N> ranks; ... };
//     static constexpr std::array symbols{"S", "n", "B", "a"};      // one for each field of In, in order
//     static constexpr std::array inputs{"message size", ...};      // what each is, in words, for the
//     reference template <class N> static Seconds<N> eval(const In<N>& in) { ... } static constexpr
//     std::array examples{Example<RingAllReduce>{{gigabytes(1), ...}, 0.00586, "worked by hand"}};
//   };
//
// `call<RingAllReduce>(RingAllReduce::In<N>{...})` evaluates it; with N = Traced the result also carries the
// formula, its citation and its inputs. A formula uses another only through `call`. formula/registry.h
// refuses to compile a formula without citation, unit or worked example.
#pragma once

#include <array>
#include <string_view>
#include <tuple>
#include <utility>

#include "formula/traced.h"

namespace shardplan {

/// A work in formula/citations.h and the place in it.
struct Citation {
  std::string_view id;
  std::string_view where;
};

struct FormulaInfo {
  std::string_view id;       // "memory.activations.paper.none"
  std::string_view title;    // what it computes, lower case, no full stop
  Citation citation;         // where the formula was read
  std::string_view assumes;  // when it holds
};

/// One worked value: inputs, the expected result in base units, and where it was read or how it was worked.
template <class F>
struct Example {
  typename F::template In<double> in;
  double expected;
  std::string_view from;
  double relative_tolerance = 1e-12;
};

namespace detail {

struct AnyField {
  template <class T>
  constexpr operator T() const;
};

template <class T, std::size_t... I>
constexpr bool brace_constructible(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), AnyField{})...}; };
}

template <class T, std::size_t Count = 16>
constexpr std::size_t field_count() {
  if constexpr (Count == 0 || brace_constructible<T>(std::make_index_sequence<Count>{})) {
    return Count;
  } else {
    return field_count<T, Count - 1>();
  }
}

/// The fields of a plain struct of up to 16 members as a tuple of references.
template <class T>
constexpr auto fields(T& s) {
  constexpr std::size_t count = field_count<std::remove_const_t<T>>();
  static_assert(count >= 1 && count <= 14, "a formula takes 1 to 14 inputs");
  if constexpr (count == 1) {
    auto& [a] = s;
    return std::tie(a);
  } else if constexpr (count == 2) {
    auto& [a, b] = s;
    return std::tie(a, b);
  } else if constexpr (count == 3) {
    auto& [a, b, c] = s;
    return std::tie(a, b, c);
  } else if constexpr (count == 4) {
    auto& [a, b, c, d] = s;
    return std::tie(a, b, c, d);
  } else if constexpr (count == 5) {
    auto& [a, b, c, d, e] = s;
    return std::tie(a, b, c, d, e);
  } else if constexpr (count == 6) {
    auto& [a, b, c, d, e, f] = s;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (count == 7) {
    auto& [a, b, c, d, e, f, g] = s;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (count == 8) {
    auto& [a, b, c, d, e, f, g, h] = s;
    return std::tie(a, b, c, d, e, f, g, h);
  } else if constexpr (count == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = s;
    return std::tie(a, b, c, d, e, f, g, h, i);
  } else if constexpr (count == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (count == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (count == 12) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  } else if constexpr (count == 13) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m);
  } else {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = s;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
  }
}

template <class D>
void bind_symbol(Quantity<D, Traced>& q, std::string_view symbol) {
  q = Quantity<D, Traced>(Traced(TraceNode{.op = TraceOp::kSymbol,
                                           .value = q.raw().value(),
                                           .name = std::string(symbol),
                                           .source = {},
                                           .unit = trace_unit<D>(),
                                           .operands = {q.raw().shared()}}));
}

template <class F, class D>
Quantity<D, Traced> formula_result(const Quantity<D, Traced>& q) {
  return Quantity<D, Traced>(Traced(TraceNode{.op = TraceOp::kFormula,
                                              .value = q.raw().value(),
                                              .name = std::string(F::info.title),
                                              .source = {},
                                              .unit = trace_unit<D>(),
                                              .formula = &F::info,
                                              .operands = {q.raw().shared()}}));
}

}  // namespace detail

/// Evaluates formula F. With Traced inputs, each input gets the formula's symbol and the result its citation.
template <class F, class In>
constexpr auto call(const In& in) {
  static_assert(std::is_same_v<In, typename F::template In<typename In::Number>>,
                "inputs of another formula");
  if constexpr (std::is_same_v<typename In::Number, double>) {
    return F::eval(in);
  } else {
    In bound = in;
    std::size_t at = 0;
    std::apply([&](auto&... field) { (detail::bind_symbol(field, F::symbols[at++]), ...); },
               detail::fields(bound));
    return detail::formula_result<F>(F::eval(bound));
  }
}

}  // namespace shardplan
