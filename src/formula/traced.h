// A number that remembers how it was made, with the same arithmetic as double, bit for bit.
//
// A formula body is written once against a number type N. With N = double it is the search's arithmetic; with
// N = Traced every operation also leaves a node, so that the explanation is the computation itself.
//
//   Traced a = leaf("HBM", 192, ...), b = ...;   Traced c = a / b;   // c.value(), c.node().operands
//
// Not here: how a node is printed (report/explain.h).
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "units/quantity.h"

namespace shardplan {

struct FormulaInfo;

enum class TraceOp {
  kConstant,  // a literal of the formula's text
  kLeaf,      // an input: name, source
  kSymbol,    // a formula's own name for one of its inputs; one operand
  kNamed,     // a labelled intermediate step; one operand
  kFormula,   // the result of a formula; one operand, `formula` set
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kMax,    // the larger of two
  kMin,    // the smaller of two
  kLeast,  // the smallest of several labelled choices: the losers stay in `operands`
  kCeil,
  kFloor,
  kSqrt,
  kLog2,
  kExp,
};

/// The dimension of a node's value where it is known (leaves, symbols, named steps, formula results).
struct TraceUnit {
  int byte = 0, second = 0, flop = 0, token = 0, usd = 0;
};

template <class D>
constexpr TraceUnit trace_unit() {
  return {D::byte, D::second, D::flop, D::token, D::usd};
}

struct TraceNode {
  TraceOp op = TraceOp::kConstant;
  double value = 0;
  std::string name;
  std::string source;
  TraceUnit unit{};
  const FormulaInfo* formula = nullptr;
  std::vector<std::shared_ptr<const TraceNode>> operands{};
};

class Traced {
 public:
  Traced() : Traced(0.0) {}
  // Literals in formula bodies become constants, as they do with double.
  Traced(double v)
      : node_(std::make_shared<TraceNode>(
            TraceNode{.op = TraceOp::kConstant, .value = v, .name = {}, .source = {}})) {}
  explicit Traced(TraceNode node) : node_(std::make_shared<TraceNode>(std::move(node))) {}

  double value() const { return node_->value; }
  const TraceNode& node() const { return *node_; }
  std::shared_ptr<const TraceNode> shared() const { return node_; }

  static Traced apply(TraceOp op, double value, const Traced& a, const Traced& b) {
    return Traced(
        TraceNode{.op = op, .value = value, .name = {}, .source = {}, .operands = {a.node_, b.node_}});
  }
  static Traced apply(TraceOp op, double value, const Traced& a) {
    return Traced(TraceNode{.op = op, .value = value, .name = {}, .source = {}, .operands = {a.node_}});
  }
  friend Traced operator+(const Traced& a, const Traced& b) {
    return apply(TraceOp::kAdd, a.value() + b.value(), a, b);
  }
  friend Traced operator-(const Traced& a, const Traced& b) {
    return apply(TraceOp::kSubtract, a.value() - b.value(), a, b);
  }
  friend Traced operator*(const Traced& a, const Traced& b) {
    return apply(TraceOp::kMultiply, a.value() * b.value(), a, b);
  }
  friend Traced operator/(const Traced& a, const Traced& b) {
    return apply(TraceOp::kDivide, a.value() / b.value(), a, b);
  }
  friend bool operator<(const Traced& a, const Traced& b) { return a.value() < b.value(); }
  friend bool operator==(const Traced& a, const Traced& b) { return a.value() == b.value(); }

 private:
  std::shared_ptr<const TraceNode> node_;
};

/// The plain number inside either reading.
constexpr double value_of(double v) { return v; }
inline double value_of(const Traced& v) { return v.value(); }
template <class D, class N>
constexpr double value_of(const Quantity<D, N>& q) {
  return value_of(q.raw());
}

/// The same quantity without its history.
template <class D>
constexpr Quantity<D> plain(const Quantity<D>& q) {
  return q;
}
template <class D>
Quantity<D> plain(const Quantity<D, Traced>& q) {
  return Quantity<D>(q.raw().value());
}

/// An input of the whole computation: its name and where the value comes from. The source is text, or
/// anything with a `label()` (catalog/source.h), which is called only when a trace wants it. Free when N is
/// double.
template <class N, class D, class S>
Quantity<D, N> leaf(std::string_view name, const Quantity<D>& q, const S& source) {
  if constexpr (std::is_same_v<N, double>) {
    return q;
  } else {
    std::string from;
    if constexpr (std::is_convertible_v<S, std::string_view>) {
      from = std::string(std::string_view(source));
    } else {
      from = label(source);
    }
    return Quantity<D, N>(Traced(TraceNode{.op = TraceOp::kLeaf,
                                           .value = q.raw(),
                                           .name = std::string(name),
                                           .source = std::move(from),
                                           .unit = trace_unit<D>()}));
  }
}
template <class N, class S>
Ratio<N> leaf(std::string_view name, double count, const S& source) {
  return leaf<N>(name, Ratio<>(count), source);
}

/// Gives an intermediate step the name a report shows. Free when N is double.
template <class D>
constexpr Quantity<D> named(const char*, const Quantity<D>& q) {
  return q;
}
template <class D>
Quantity<D, Traced> named(const char* name, const Quantity<D, Traced>& q) {
  return Quantity<D, Traced>(Traced(TraceNode{.op = TraceOp::kNamed,
                                              .value = q.raw().value(),
                                              .name = name,
                                              .source = {},
                                              .unit = trace_unit<D>(),
                                              .operands = {q.raw().shared()}}));
}

template <class D, class N>
constexpr Quantity<D, N> max(const Quantity<D, N>& a, const Quantity<D, N>& b) {
  const bool second = a < b;
  if constexpr (std::is_same_v<N, double>) {
    return second ? b : a;
  } else {
    return Quantity<D, N>(Traced::apply(TraceOp::kMax, second ? value_of(b) : value_of(a), a.raw(), b.raw()));
  }
}
template <class D, class N>
constexpr Quantity<D, N> min(const Quantity<D, N>& a, const Quantity<D, N>& b) {
  const bool second = b < a;
  if constexpr (std::is_same_v<N, double>) {
    return second ? b : a;
  } else {
    return Quantity<D, N>(Traced::apply(TraceOp::kMin, second ? value_of(b) : value_of(a), a.raw(), b.raw()));
  }
}

namespace detail {
template <class N, class Op>
constexpr N unary(TraceOp op, const N& v, Op function) {
  if constexpr (std::is_same_v<N, double>) {
    return function(v);
  } else {
    return Traced::apply(op, function(v.value()), v);
  }
}
}  // namespace detail

template <class N>
Ratio<N> ceil(const Ratio<N>& q) {
  return Ratio<N>(detail::unary(TraceOp::kCeil, q.raw(), [](double v) { return std::ceil(v); }));
}
template <class N>
Ratio<N> floor(const Ratio<N>& q) {
  return Ratio<N>(detail::unary(TraceOp::kFloor, q.raw(), [](double v) { return std::floor(v); }));
}
template <class N>
Ratio<N> sqrt(const Ratio<N>& q) {
  return Ratio<N>(detail::unary(TraceOp::kSqrt, q.raw(), [](double v) { return std::sqrt(v); }));
}
template <class N>
Ratio<N> exp(const Ratio<N>& q) {
  return Ratio<N>(detail::unary(TraceOp::kExp, q.raw(), [](double v) { return std::exp(v); }));
}
template <class N>
Ratio<N> log2(const Ratio<N>& q) {
  return Ratio<N>(detail::unary(TraceOp::kLog2, q.raw(), [](double v) { return std::log2(v); }));
}

}  // namespace shardplan
