// Which formula calls stand under a set of results, in the order to read them, each once.
//
//   const std::vector<TraceBlock> blocks = trace_blocks(roots);   // blocks[1].number == 2
//
// Two calls are the same when formula, inputs and all that made the inputs are. Not here: printing
// (explain.h).
#pragma once

#include <vector>

#include "report/explain.h"

namespace shardplan {

/// One formula call, or a result put together from several (formula is null then).
struct TraceBlock {
  int number = 0;     // of a formula call, from 1; 0 for a result that is not a formula's
  std::string title;  // of the formula, or the result's name
  const FormulaInfo* formula = nullptr;
  const TraceNode* result = nullptr;
  const TraceNode* body = nullptr;        // what was evaluated, in terms of the symbols
  std::vector<const TraceNode*> symbols;  // in the order of the expression, each name once
  std::vector<const TraceNode*> steps;    // named intermediate results of the body
};

struct TraceReading {
  std::vector<TraceBlock> blocks;
  /// The number of the block that shows this formula result; 0 when none does.
  int number_of(const TraceNode& node) const;

  std::vector<std::pair<const TraceNode*, int>> numbers;  // sorted by address
};

TraceReading read_trace(const TraceRoots& roots);

/// The symbols of a formula's result, in the order of its expression.
std::vector<const TraceNode*> symbols_of(const TraceNode& result);

/// What a symbol was bound to, symbols of callers looked through.
const TraceNode& binding_of(const TraceNode& symbol);

}  // namespace shardplan
