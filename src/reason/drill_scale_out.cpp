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

DrillCommand replicas() {
  return {"plan",
          {{"--preset", "llama3-8b"},
           {"--gpus", "64"},
           {"--seq", "4096"},
           {"--global-batch", "64"},
           {"--critical-batch", "2Mtok"},
           {"--micro-batch", "1"},
           {"--recompute", "selective"},
           {"--zero", "0"},
           {"--tp", "1"},
           {"--pp", "1"},
           {"--cp", "1"}}};
}

/// The same job with one of the told axes at another degree.
DrillCommand with_axis(const char* flag) { return with(with(replicas(), flag, "2"), "--zero", "1"); }

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
  s.question = reader.question(replicas());
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
    table.rows.push_back(row("bandwidth needed to hide it", *ring.required_without_latency));
  if (ring.required) table.rows.push_back(row("with the latency term", *ring.required));
  table.rows.push_back(row_ratio("times as fast as one GPU", s.speedup(ring)));
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
  if (way.required) table.rows.push_back(row("bandwidth needed between nodes", *way.required));
  table.rows.push_back(row_ratio("times as fast as one GPU", s.speedup(way)));
  return table;
}

DrillTable batch_table(const ScaleOut& s, const DrillSolution& solution) {
  DrillTable table =
      plan_table("the plan as the engine sees it", *solution.findings.result.best, {replicas()});
  table.rows.insert(table.rows.begin(),
                    {row_tokens("tokens of one micro-step on 64 GPUs", s.micro_step_tokens),
                     row_tokens("critical batch, as believed", s.critical_tokens),
                     {"accumulation steps at most", s.accumulation_max, "steps", ""}});
  return table;
}

/// Inter-node bandwidth at which the reduction is exposed for longer than `allowed`.
std::optional<double> bandwidth_for(const ScaleOut& s, Seconds<> allowed) {
  const auto too_slow = [&](double bandwidth) {
    CommQuestion q = s.tiers_question;
    q.cluster.tiers.back().bandwidth.value = bytes_per_s(bandwidth);
    return *comm_cost<double>(q).best().exposed > allowed;
  };
  const double now = s.tiers_question.cluster.tiers.back().bandwidth.value.raw();
  return bisect(now, now / 1e4, too_slow);
}

void add_findings(const ScaleOut& s, Answer& a) {
  const CommWay<>& way = s.tiered();
  const Tier& outer = s.question.cluster.tiers.back();
  a.binding = {"compute",
               "throughput binds, not memory: " + format(s.memory.memory.worst().total()) + " of " +
                   format(s.memory.memory.usable) +
                   " usable is enough for one GPU's work, but one GPU takes " + format(s.step) +
                   " a sequence; to be " + format_number(kWantedSpeedup) + " times as fast on " +
                   count(kGpus) + " GPUs (" + format_percent(kWantedSpeedup / static_cast<double>(kGpus)) +
                   " efficiency) a step of " + count(kGpus) + " sequences may take " + format(s.budget),
               s.step.raw(), s.budget.raw(), "s"};
  a.axes = {{"dp", kGpus, outer.name, way.required, outer.bandwidth.value,
             format(s.tiers.size) + " of gradients take " + format(way.time()) +
                 " tier by tier and hide in the " + format(*s.tiers.window) +
                 " backward window; a flat ring takes " + format(s.ring().time()) + ", exposes " +
                 format(*s.ring().exposed) + " and would need " +
                 format(*s.ring().required_without_latency)}};
  a.failure_modes = {
      {"flat_ring",
       "the bet is that the library reduces inside nodes first; one flat ring exposes " +
           format(*s.ring().exposed) + " (still " + format_number(s.speedup(s.ring())) + " times one GPU)",
       "every GPU waits at the end of the backward pass and the step is " +
           format(s.step + *s.ring().exposed) + " instead of " + format(s.step),
       "time in all-reduce after the last backward kernel"},
      {"critical_batch",
       "the bet is that batches up to " + format_number(s.critical_tokens) +
           " tokens still pay: " + count(static_cast<std::int64_t>(s.micro_step_tokens)) +
           " tokens a micro-step, at most " + format_number(s.accumulation_max) + " accumulation steps",
       "tokens a second go up as planned while the loss for each token seen falls behind the one-GPU run",
       "loss against tokens, beside a run with a smaller batch"}};
}

void add_thresholds(const ScaleOut& s, Answer& a) {
  const double now = s.question.cluster.tiers.back().bandwidth.value.raw();
  if (const auto at = bandwidth_for(s, seconds(0))) {
    a.thresholds.push_back(
        {"bandwidth_inter_node", now, *at, "bytes/s", "below it the two-tier reduction is exposed as well"});
  }
  if (const auto at = bandwidth_for(s, s.budget - s.step)) {
    a.thresholds.push_back(
        {"bandwidth_inter_node", now, *at, "bytes/s",
         "below it 64 GPUs are less than " + format_number(kWantedSpeedup) + " times one"});
  }
  a.thresholds.push_back(
      {"critical_batch", s.critical_tokens, s.micro_step_tokens, "tokens",
       "below it even one micro-step of 64 sequences is too large a batch for plain replicas"});
}

}  // namespace

DrillSolution solve_scale_out(const DrillReader& reader) {
  const ScaleOut s = prepare(reader);
  const Estimator estimator(s.question);
  const DrillSolution engine = engine_solution(estimator, kGpus);
  DrillSolution solution;
  solution.gpus = kGpus;
  solution.plan = engine.plan;
  solution.findings.result = engine.findings.result;
  add_findings(s, solution.findings);
  add_thresholds(s, solution.findings);
  const std::string spare =
      format(s.memory.memory.usable - s.memory.memory.worst().total()) + " of memory are free without it";
  solution.findings.not_used = {
      unused_axis(reader, with_axis("--tp"), "tp", TimeTerm::kTensor, spare),
      unused_axis(reader, with_axis("--pp"), "pp", TimeTerm::kBubble, spare),
      unused_axis(reader, with_axis("--cp"), "cp", TimeTerm::kContext,
                  "a sequence of " + count(s.question.workload.sequence) + " tokens needs no dividing")};
  solution.findings.unknowns = {
      unknown("stragglers", "64 GPUs go at the pace of the slowest; one is never slower than itself",
              format(s.step * 0.01) + " a step for each percent that one GPU is slower"),
      unknown("collective_algorithm", "whether the library takes the two-tier way at this size",
              format(*s.ring().exposed) + " a step if it does not"),
      unknown("critical_batch", "the critical batch is a belief about the data, not a measurement",
              format_number(s.accumulation_max) + " accumulation steps if it holds")};
  solution.figures = {row("step that gives 40 times", s.budget),
                      row_ratio("efficiency wanted", kWantedSpeedup / static_cast<double>(kGpus)),
                      row("bandwidth a flat ring needs", *s.ring().required_without_latency),
                      row("two-tier reduction", s.tiered().time()),
                      row("flat ring", s.ring().time()),
                      row("flat ring, exposed", *s.ring().exposed)};
  add_engine_findings(engine.findings, solution.findings);
  solution.tables = {memory_table(s), ring_table(s), tiers_table(s), batch_table(s, solution)};
  return solution;
}

std::optional<std::string> wrong_scale_out(const std::optional<Plan>& plan, const DrillReader& reader) {
  return wrong_training_plan(plan, reader.question(replicas()));
}

}  // namespace shardplan::drill
