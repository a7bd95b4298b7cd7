#include "report/trace_text.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "units/format.h"

namespace shardplan {
namespace {

enum Precedence { kSum = 1, kProduct = 2, kAtom = 3 };

struct Printed {
  std::string text;
  Precedence precedence = kAtom;
};

std::string in_parentheses(const Printed& p, bool needed) { return needed ? "(" + p.text + ")" : p.text; }

bool is_constant(const TraceNode& node, double value) {
  return node.op == TraceOp::kConstant && node.value == value;
}

Printed print(const TraceNode& node, const TraceAtom& atom);

Printed print_sum(const TraceNode& node, const TraceAtom& atom) {
  const TraceNode &left = *node.operands[0], &right = *node.operands[1];
  const bool minus = node.op == TraceOp::kSubtract;
  // A total starts at 0; the start says nothing.
  if (is_constant(right, 0)) return print(left, atom);
  if (is_constant(left, 0) && !minus) return print(right, atom);
  const Printed a = print(left, atom), b = print(right, atom);
  return {a.text + (minus ? " - " : " + ") + in_parentheses(b, minus && b.precedence == kSum), kSum};
}

Printed print_product(const TraceNode& node, const TraceAtom& atom) {
  const TraceNode &left = *node.operands[0], &right = *node.operands[1];
  // A factor 1 (a unit, the "one" of a formula) says nothing.
  if (is_constant(right, 1)) return print(left, atom);
  if (is_constant(left, 1) && node.op == TraceOp::kMultiply) return print(right, atom);
  const Printed a = print(left, atom), b = print(right, atom);
  const bool over = node.op == TraceOp::kDivide;
  const bool right_needs = b.precedence == kSum || (over && b.precedence == kProduct);
  return {in_parentheses(a, a.precedence == kSum) + (over ? " / " : " · ") + in_parentheses(b, right_needs),
          kProduct};
}

Printed print_function(const char* name, const TraceNode& node, const TraceAtom& atom) {
  std::string arguments;
  for (const auto& operand : node.operands) {
    arguments += (arguments.empty() ? "" : ", ") + print(*operand, atom).text;
  }
  return {std::string(name) + "(" + arguments + ")"};
}

/// A value such as "50 GB/s" or "-3 s" is set apart inside a product.
Printed print_atom(std::string text) {
  const bool apart = text.find('/') != std::string::npos && text.find(' ') != std::string::npos;
  if (text.starts_with('-')) return {std::move(text), kSum};
  return {apart ? "(" + text + ")" : std::move(text)};
}

Printed print(const TraceNode& node, const TraceAtom& atom) {
  if (auto text = atom(node)) return print_atom(*std::move(text));
  switch (node.op) {
    case TraceOp::kConstant:
      return print_atom(constant_text(node.value));
    case TraceOp::kLeaf:
      return print_atom(node.name);
    case TraceOp::kSymbol:
    case TraceOp::kNamed:
    case TraceOp::kFormula:
      return print(*node.operands[0], atom);
    case TraceOp::kAdd:
    case TraceOp::kSubtract:
      return print_sum(node, atom);
    case TraceOp::kMultiply:
    case TraceOp::kDivide:
      return print_product(node, atom);
    case TraceOp::kMax:
      return print_function("max", node, atom);
    case TraceOp::kMin:
      return print_function("min", node, atom);
    case TraceOp::kLeast:
      return print_function("least", node, atom);
    case TraceOp::kCeil:
      return print_function("ceil", node, atom);
    case TraceOp::kFloor:
      return print_function("floor", node, atom);
    case TraceOp::kSqrt:
      return print_function("sqrt", node, atom);
    case TraceOp::kLog2:
      return print_function("log2", node, atom);
    case TraceOp::kExp:
      return print_function("exp", node, atom);
  }
  return {"?"};
}

TraceUnit combine(const TraceUnit& a, const TraceUnit& b, int sign) {
  return {a.byte + sign * b.byte, a.second + sign * b.second, a.flop + sign * b.flop,
          a.token + sign * b.token, a.usd + sign * b.usd};
}

bool has_atom_op(const TraceNode& node, std::initializer_list<TraceOp> ops) {
  return std::find(ops.begin(), ops.end(), node.op) != ops.end();
}

}  // namespace

std::string expression_text(const TraceNode& node, const TraceAtom& atom) {
  // A single value stands alone, without the parentheses it has inside a product.
  if (auto text = atom(node)) return *std::move(text);
  return print(node, atom).text;
}

std::optional<std::string> symbol_name(const TraceNode& node) {
  if (!has_atom_op(node, {TraceOp::kSymbol, TraceOp::kNamed, TraceOp::kLeaf})) return std::nullopt;
  // The name of a step may be several words: quotes hold them together.
  const bool words = node.op == TraceOp::kNamed && node.name.find(' ') != std::string::npos;
  return words ? "'" + node.name + "'" : node.name;
}

std::optional<std::string> symbol_value(const TraceNode& node) {
  if (!has_atom_op(node, {TraceOp::kSymbol, TraceOp::kNamed, TraceOp::kLeaf, TraceOp::kFormula}))
    return std::nullopt;
  return value_text(node);
}

TraceUnit unit_of(const TraceNode& node) {
  switch (node.op) {
    case TraceOp::kLeaf:
    case TraceOp::kSymbol:
    case TraceOp::kNamed:
    case TraceOp::kFormula:
      return node.unit;
    case TraceOp::kMultiply:
      return combine(unit_of(*node.operands[0]), unit_of(*node.operands[1]), 1);
    case TraceOp::kDivide:
      return combine(unit_of(*node.operands[0]), unit_of(*node.operands[1]), -1);
    case TraceOp::kAdd:
    case TraceOp::kSubtract:
    case TraceOp::kMax:
    case TraceOp::kMin:
    case TraceOp::kLeast:
      for (const auto& operand : node.operands) {
        if (operand->op != TraceOp::kConstant) return unit_of(*operand);
      }
      return {};
    case TraceOp::kConstant:
    case TraceOp::kCeil:
    case TraceOp::kFloor:
    case TraceOp::kSqrt:
    case TraceOp::kLog2:
    case TraceOp::kExp:
      return {};
  }
  return {};
}

std::string value_text(const TraceNode& node) {
  const TraceUnit u = unit_of(node);
  return format_dimension(node.value, u.byte, u.second, u.flop, u.token, u.usd);
}

std::string unit_text(const TraceNode& node) {
  const TraceUnit u = unit_of(node);
  return unit_name(u.byte, u.second, u.flop, u.token, u.usd);
}

std::string constant_text(double value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return {digits.data(), end};
}

}  // namespace shardplan
