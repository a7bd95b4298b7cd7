// What the worked answers share: rows of tables, checks of a reader's plan.
//
//   row("state", state_bytes, "of the whole model")
//
// Private to reason/. Not here: formulas; every number comes from estimate/ or search/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "estimate/comm.h"
#include "estimate/serve.h"
#include "reason/drill.h"
#include "reason/memory_answer.h"

namespace shardplan::drill {

Figure row(std::string label, Bytes<> value, std::string note = "");
Figure row(std::string label, Seconds<> value, std::string note = "");
Figure row(std::string label, BytesPerSecond<> value, std::string note = "");
Figure row(std::string label, TokensPerSecond<> value, std::string note = "");
Figure row_tokens(std::string label, double value, std::string note = "");
Figure row_gpus(std::string label, double value, std::string note = "");
Figure row_ratio(std::string label, double value, std::string note = "");

MemoryAnswer memory_of(const Question& question, const Plan& plan);

/// The engine's answer to `asked`, with the binding constraint of its answer to `binds`.
DrillSolution planned(const DrillReader& reader, const DrillCommand& asked, const DrillCommand& binds);
DrillSolution planned(const DrillReader& reader, const DrillCommand& asked);

/// Speeds and sizes of a cluster: what a reader's answer may quote.
std::vector<Figure> given_figures(const Cluster& cluster);

/// Step, its largest parts and the memory of one plan.
DrillTable plan_table(const std::string& title, const Estimate& estimate, std::vector<DrillCommand> commands);

/// Legal and in memory for a training question, or why not. The plan's accumulation follows from the batch.
std::optional<std::string> wrong_training_plan(const std::optional<Plan>& plan, const Question& question);
/// The tensor-parallel degree divides every layer's heads, or what is wrong.
std::optional<std::string> wrong_heads(const Question& question, std::int64_t tensor);
/// Degrees multiply to `gpus`, or what is wrong.
std::optional<std::string> wrong_product(const Plan& plan, std::int64_t gpus);

std::string count(std::int64_t n);
/// "196608": a number as a flag takes it, without separators.
std::string format_plain(double whole);
/// A parameter count as --params takes it: "8.030261248".
std::string billions(double parameters);

}  // namespace shardplan::drill
