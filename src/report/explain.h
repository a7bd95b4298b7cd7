// The trace of a computation for people: every formula under a set of results, with its citation and the
// numbers in it.
//
//   auto cost = comm_cost<Traced>(question);
//   explain_text({{"time", cost.best().cost.total().raw().shared()}});
//     time = [1] + [2]
//          = 1.89 ms + 551.3 ms
//          = 553.1 ms
//     [1] ring all-reduce, latency term  (comm.ring.all_reduce.latency) ...
//
// Results come first, and each formula before those that made its inputs; one that is called twice with the
// same inputs is shown once. It prints nodes and computes nothing. Not here: formulas without a question
// (formula_reference.h).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "formula/traced.h"
#include "report/json_values.h"

namespace shardplan {

using TraceRoots = std::vector<std::pair<std::string, std::shared_ptr<const TraceNode>>>;

std::string explain_text(const TraceRoots& roots);

/// An array of {"id","title","citation","expression","substituted","value","unit",
/// "symbols":[{"symbol","meaning","value","unit","source"}],
/// "steps":[{"name","expression","value","unit"}],"assumes"}.
/// A result that is not itself a formula's has an empty id.
Json explain_json(const TraceRoots& roots);

}  // namespace shardplan
