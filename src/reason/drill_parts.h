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
#include "estimate/decode.h"
#include "reason/bisect.h"
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

/// Searches the question and takes the engine's findings; the plan is the best one.
DrillSolution engine_solution(const Estimator& estimator, std::int64_t gpus);
/// What the engine found beside what is already said: an axis, a parameter or an id is said once.
void add_engine_findings(const Answer& engine, Answer& findings);
/// The engine's own binding constraint as the number to name.
void add_binding_figure(DrillSolution& solution);

/// Step, its largest parts and the memory of one plan.
DrillTable plan_table(const std::string& title, const Estimate& estimate, std::vector<DrillCommand> commands);

/// Legal and in memory for a training question, or why not. The plan's accumulation follows from the batch.
std::optional<std::string> wrong_training_plan(const std::optional<Plan>& plan, const Question& question);
/// The tensor-parallel degree divides every layer's heads, or what is wrong.
std::optional<std::string> wrong_heads(const Question& question, std::int64_t tensor);
/// Degrees multiply to `gpus`, or what is wrong.
std::optional<std::string> wrong_product(const Plan& plan, std::int64_t gpus);

/// What the best plan of `command` with one more axis would have exposed in `term`: why the axis is not used.
UnusedAxis unused_axis(const DrillReader& reader, const DrillCommand& command, const char* axis,
                       TimeTerm term, const std::string& why);
/// Bandwidth of the outermost tier from which the data-parallel traffic of a plan is exposed.
std::optional<Threshold> exposure_threshold(const Question& question, const Plan& plan);

/// What is outside every closed form here.
Unknown unknown(const char* id, std::string statement, std::string magnitude);

std::string count(std::int64_t n);
/// "196608": a number as a flag takes it, without separators.
std::string format_plain(double whole);
/// A parameter count as --params takes it: "8.030261248".
std::string billions(double parameters);

}  // namespace shardplan::drill
