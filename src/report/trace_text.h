// A trace printed as an expression: minimal parentheses, constants plain, what stands for a node is the
// caller's choice.
//
//   expression_text(*body, symbol_names);   // "2 · (n - 1) / n · S / B"
//   expression_text(*body, symbol_values);  // "2 · (64 - 1) / 64 · 13.04 GiB / (50 GB/s)"
//
// It prints what formulas computed; the value of a node is never recomputed. Not here: whole explanations
// (explain.h).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "formula/traced.h"

namespace shardplan {

/// The text that stands for a node, or nothing to print the node's operation.
using TraceAtom = std::function<std::optional<std::string>(const TraceNode&)>;

std::string expression_text(const TraceNode& node, const TraceAtom& atom);

/// For a formula's body: its symbols and the names of its steps.
std::optional<std::string> symbol_name(const TraceNode& node);
/// For a formula's body: their values with units.
std::optional<std::string> symbol_value(const TraceNode& node);

/// Recorded where the trace has it (leaves, symbols, named steps, formulas), else that of the operands.
TraceUnit unit_of(const TraceNode& node);
/// "13.04 GiB".
std::string value_text(const TraceNode& node);
/// "bytes", "s", "bytes/s", "".
std::string unit_text(const TraceNode& node);
/// A literal as it stands in the formula: "2", "0.5".
std::string constant_text(double value);

}  // namespace shardplan
