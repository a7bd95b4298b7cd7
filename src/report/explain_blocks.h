// The blocks of an explanation as texts: what each output of one (text, JSON, the report's cards) arranges.
//
//   for (const ExplainedBlock& b : explained_blocks(read_trace(roots)))
//     b.title + " = " + b.expression + " = " + b.substituted + " = " + b.value;
//
// Not here: the order of the blocks (trace_walk.h), how an expression is printed (trace_text.h).
#pragma once

#include <string>
#include <vector>

#include "report/trace_walk.h"

namespace shardplan {

struct ExplainedSymbol {
  const TraceNode* node = nullptr;  // its value as a number
  std::string name, value, unit;
  std::string meaning;  // "message size"; "[2] backward pass of a step"
  std::string source;   // of an input "flag --params", else "computed" or "the method"
  bool input = false;   // not computed, and its source is known
};

struct ExplainedStep {
  const TraceNode* node = nullptr;
  std::string name, expression, value, unit;
};

/// Calls of other formulas stand in expressions and meanings by their numbers: "[2]".
struct ExplainedBlock {
  const TraceBlock* block = nullptr;
  int number = 0;  // 0 for a result that is not a formula's
  std::string id, title, citation, assumes;
  std::string expression, substituted, value, unit;
  std::vector<ExplainedSymbol> symbols;
  std::vector<ExplainedStep> steps;
};

/// They refer to the reading.
std::vector<ExplainedBlock> explained_blocks(const TraceReading& reading);

}  // namespace shardplan
