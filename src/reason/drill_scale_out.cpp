// Drill 2, scenario A: a model that fits one GPU and is wanted 40 times faster on 64.
#include <cmath>

#include "reason/drill_parallelism.h"
#include "reason/drill_parts.h"
#include "units/format.h"

namespace shardplan::drill {
namespace {

// The scenario's own facts.
constexpr double kWantedSpeedup = 40;
constexpr std::int64_t kGpus = 64;
constexpr const char* kStepMs = "700";

DrillCommand one_gpu() {
  return {"memory",
          {{"--preset", "llama3-8b"}, {"--gpus", "1"}, {"--seq", "4096"}, {"--recompute", "selective"}}};
}

DrillCommand one_gpu_none() { return with(one_gpu(), "--recompute", "none"); }

DrillCommand on_all() {
  return {"plan",
          {{"--preset", "llama3-8b"},
           {"--gpus", "64"},
           {"--seq", "4096"},
           {"--global-batch", "64"},
           {"--critical-batch", "2Mtok"}}};
}

DrillCommand flat_ring(const std::string& params) {
  return {
      "comm",
      {{"--gpus", "64"}, {"--bw", "50"}, {"--latency", "15"}, {"--params", params}, {"--step-ms", kStepMs}}};
}

DrillCommand two_tiers(const std::string& params) {
  return {"comm",
          {{"--gpus", "64"},
           {"--gpus-per-node", "8"},
           {"--bw-intra", "300"},
           {"--latency-intra", "5"},
           {"--bw-inter", "50"},
           {"--latency-inter", "15"},
           {"--params", params},
           {"--step-ms", kStepMs}}};
}

/// What the tables and findings of this scenario are made of.
struct ScaleOut {
  Question question;
  MemoryAnswer memory, without_recompute;
  DrillCommand flat_command, tiers_command;
  CommQuestion tiers_question;
  CommCost<> flat, tiers;
  Seconds<> step, budget;  // one GPU's step; the step of 64 at which they are 40 times as fast
  double micro_step_tokens = 0, critical_tokens = 0, accumulation_max = 0;

  const CommWay<>& ring() const { return flat.ways.front(); }
  const CommWay<>& tiered() const { return tiers.best(); }
  double speedup(const CommWay<>& way) const {
    return static_cast<double>(kGpus) * (step / (step + *way.exposed)).raw();
  }
};

ScaleOut prepare(const DrillReader& reader) {
  ScaleOut s;
  Plan one;
  one.recompute = Recompute::kSelective;
  s.memory = memory_of(reader.question(one_gpu()), one);
  s.without_recompute = memory_of(reader.question(one_gpu_none()), Plan{});
  s.question = reader.question(on_all());
  const std::string params = billions(s.memory.parameters);
  s.flat_command = flat_ring(params);
  s.tiers_command = two_tiers(params);
  const CommQuestion flat = reader.communication(s.flat_command);
  s.tiers_question = reader.communication(s.tiers_command);
  s.flat = comm_cost<double>(flat);
  s.tiers = comm_cost<double>(s.tiers_question);
  s.step = flat.step->value;
  s.budget = s.step * (static_cast<double>(kGpus) / kWantedSpeedup);
  s.micro_step_tokens = static_cast<double>(kGpus * s.question.workload.sequence);
  s.critical_tokens = s.question.workload.critical_batch_tokens;
  s.accumulation_max = std::floor(s.critical_tokens / s.micro_step_tokens);
  return s;
}

DrillTable memory_table(const ScaleOut& s) {
  const MemoryBreakdown<>& m = s.memory.memory.worst();
  DrillTable table{
      "one GPU, micro-batch 1, closed forms, selective recomputation", {}, {one_gpu(), one_gpu_none()}};
  table.rows = {row("state", m.state()),
                row("activations", m[MemoryTerm::kActivations]),
                row("logits", m[MemoryTerm::kLogits]),
                row("total", m.total(), "of " + format(s.memory.memory.usable) + " usable"),
                row("margin", s.memory.memory.usable - m.total(),
                    format_percent(((s.memory.memory.usable - m.total()) / s.memory.memory.usable).raw()) +
                        " of what is usable"),
                row("total without recomputation", s.without_recompute.memory.worst().total(),
                    s.without_recompute.fits ? "fits as well" : "does not fit")};
  return table;
}

DrillTable ring_table(const ScaleOut& s) {
  const CommWay<>& ring = s.ring();
  DrillTable table{"gradients over 64 GPUs, one flat ring", {}, {s.flat_command}};
  table.rows = {row("gradients, bf16", s.flat.size), row("bandwidth term", ring.cost.bandwidth_term),
                row("latency term", ring.cost.latency_term),
                row("window: two thirds of the step", *s.flat.window), row("exposed", *ring.exposed)};
  if (ring.required_without_latency)
    table.rows.push_back(row("bandwidth needed to hide it", rounded_up(*ring.required_without_latency)));
  if (ring.required) table.rows.push_back(row("with the latency term", rounded_up(*ring.required)));
  table.rows.push_back(row_ratio("times as fast as one GPU", s.speedup(ring)));
  table.rows.push_back(row("a step with what is exposed", s.step + *ring.exposed));
  return table;
}

DrillTable tiers_table(const ScaleOut& s) {
  const CommWay<>& way = s.tiered();
  DrillTable table{"the same gradients, reduced in each node first", {}, {s.tiers_command}};
  for (const CommPart<>& part : way.parts) {
    table.rows.push_back(row(part.tier + ": " + count(part.ranks) + " ranks", part.cost.total(),
                             format(part.size) + " at " + format(part.link.bandwidth)));
  }
  table.rows.push_back(row("together", way.time()));
  table.rows.push_back(row("exposed", *way.exposed));
  if (way.required) table.rows.push_back(row("bandwidth needed between nodes", rounded_up(*way.required)));
  table.rows.push_back(row_ratio("times as fast as one GPU", s.speedup(way)));
  return table;
}

DrillTable batch_table(const ScaleOut& s, const DrillSolution& solution) {
  DrillTable table = plan_table("the plan as the engine sees it", *solution.findings.result.best, {on_all()});
  table.rows.insert(table.rows.begin(),
                    {row_tokens("tokens of one micro-step on 64 GPUs", s.micro_step_tokens),
                     row_tokens("critical batch, as believed", s.critical_tokens),
                     {"accumulation steps at most", s.accumulation_max, "steps", ""}});
  return table;
}

DrillTable wanted_table(const ScaleOut& s) {
  DrillTable table{"what is wanted of 64 GPUs", {}, {s.tiers_command}};
  table.rows = {row("one GPU's step, one sequence", s.step), row_ratio("times as fast", kWantedSpeedup),
                row_ratio("efficiency that it takes", kWantedSpeedup / static_cast<double>(kGpus)),
                row("a step of 64 sequences may take", s.budget)};
  return table;
}

}  // namespace

DrillSolution solve_scale_out(const DrillReader& reader) {
  const ScaleOut s = prepare(reader);
  DrillSolution solution = planned(reader, on_all());
  solution.tables = {memory_table(s), wanted_table(s), ring_table(s), tiers_table(s),
                     batch_table(s, solution)};
  return solution;
}

std::optional<std::string> wrong_scale_out(const std::optional<Plan>& plan, const DrillReader& reader) {
  return wrong_training_plan(plan, reader.question(on_all()));
}

}  // namespace shardplan::drill
