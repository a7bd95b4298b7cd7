// Drill 2: choose the parallelism. The list, and the two scenarios that training memory decides (B and C).
#include "reason/drill_parallelism.h"

#include <array>

#include "reason/drill_parts.h"
#include "units/format.h"

namespace shardplan {
namespace drill {
namespace {

constexpr std::int64_t kGpus = 64;

// Scenario B
// -------------------------------------------------------------------------------------------------------

DrillCommand large(const char* command) {
  return {command,
          {{"--params", "65"},
           {"--layers", "80"},
           {"--hidden", "8192"},
           {"--heads", "64"},
           {"--seq", "4096"},
           {"--gpus", "64"}}};
}

// The sequence is short; scenario C is the one that divides it.
DrillCommand large_plan() { return with(large("plan"), "--cp", "1"); }

DrillTable large_memory_table(const DrillReader& reader, const Floor& floor) {
  DrillTable table{"what has to be kept", {}, {large("memory")}};
  table.rows = {
      row("state of the whole model", floor.state),
      row_ratio("in GPUs' worth of usable memory", (floor.state / floor.usable).raw()),
      row("state on each of 64 GPUs, fully sharded", floor.state_per_gpu, "of " + format(floor.usable))};
  for (const Recompute recompute : {Recompute::kNone, Recompute::kSelective}) {
    const DrillCommand command = with(large("memory"), "--recompute", name(recompute));
    Plan plan;
    plan.dp = static_cast<std::int32_t>(kGpus);
    plan.zero_stage = 3;
    plan.recompute = recompute;
    const MemoryAnswer memory = memory_of(reader.question(command), plan);
    table.rows.push_back(row(std::string("activations, closed forms, recompute ") + name(recompute),
                             memory.memory.worst()[MemoryTerm::kActivations]));
    if (recompute == Recompute::kSelective) table.commands.push_back(command);
  }
  return table;
}

}  // namespace

DrillSolution solve_large_state(const DrillReader& reader) {
  DrillSolution s = planned(reader, large_plan(), with(large("plan"), "--gpus", "1"));
  const Question q = reader.question(large_plan());
  s.tables = {large_memory_table(reader, state_floor(Estimator(q))),
              plan_table("the plan", *s.findings.result.best, {large_plan()})};
  return s;
}

std::optional<std::string> wrong_large_state(const std::optional<Plan>& plan, const DrillReader& reader) {
  return wrong_training_plan(plan, reader.question(large_plan()));
}

// Scenario C
// -------------------------------------------------------------------------------------------------------

namespace {

DrillCommand long_memory() {
  return {"memory", {{"--preset", "llama3-8b"}, {"--gpus", "8"}, {"--seq", "131072"}}};
}

DrillCommand long_plan() {
  return {"plan",
          {{"--preset", "llama3-8b"},
           {"--gpus", "64"},
           {"--seq", "131072"},
           {"--global-batch", "8"},
           {"--critical-batch", "2Mtok"}}};
}

/// What scenario A does: each GPU its own sequence.
DrillCommand long_on_one() {
  return {"plan", {{"--preset", "llama3-8b"}, {"--gpus", "1"}, {"--seq", "131072"}, {"--recompute", "none"}}};
}

DrillCommand with_degree(const char* degree, const char* batch) {
  DrillCommand command = with(with(long_plan(), "--cp", degree), "--global-batch", batch);
  return with(with(command, "--tp", "1"), "--pp", "1");
}

/// One layer and the whole model on one GPU, by both accounts of activations.
struct LongMemory {
  Bytes<> state, usable;
  Bytes<> layer_paper, layer_ops, selective_paper;
  Bytes<> all_paper, all_ops;
};

LongMemory long_memory_of(const DrillReader& reader) {
  Question q = reader.question(with(long_memory(), "--gpus", "1"));
  const Plan plan;
  const auto activations = [&](ActivationModel model) {
    q.activations = model;
    return memory_of(q, plan).memory.worst()[MemoryTerm::kActivations];
  };
  Plan selective = plan;
  selective.recompute = Recompute::kSelective;
  const MemoryAnswer memory = memory_of(q, plan);
  LongMemory m;
  m.state = memory.memory.worst().state();
  m.usable = memory.memory.usable;
  m.layer_paper = memory.layer_paper;
  m.layer_ops = memory.layer_ops;
  m.selective_paper = memory_of(q, selective).layer_paper;
  m.all_paper = activations(ActivationModel::kPaper);
  m.all_ops = activations(ActivationModel::kOps);
  return m;
}

DrillTable layer_table(const LongMemory& m) {
  DrillTable table{"activations of one micro-batch of 131,072 tokens", {}, {}};
  table.rows = {row("one layer, closed form, no recomputation", m.layer_paper, "scores are kept"),
                row("one layer, closed form, selective", m.selective_paper, "scores are computed again"),
                row("one layer, op by op with fused attention", m.layer_ops, "scores are never stored"),
                row("the same on each of 8 GPUs that share the sequence", m.layer_ops / ratio(8)),
                row("all layers, closed form, no recomputation", m.all_paper),
                row("all layers, op by op", m.all_ops, "of " + format(m.usable) + " usable"),
                row("state of the model beside them", m.state)};
  table.commands = {long_memory(), with(long_memory(), "--recompute", "selective"),
                    with(long_memory(), "--activations", "ops")};
  return table;
}

/// The best plan with each degree of context parallelism, at the smallest batch that its replicas allow.
DrillTable degree_table(const DrillReader& reader) {
  DrillTable table{"context parallelism by degree: memory of the fullest GPU in the best plan", {}, {}};
  struct Row {
    const char* degree;
    const char* batch;
  };
  for (const Row& r : {Row{"1", "64"}, {"4", "16"}, {"8", "8"}, {"16", "8"}, {"64", "8"}}) {
    const DrillCommand command = with_degree(r.degree, r.batch);
    const Question q = reader.question(command);
    const Estimator estimator(q);
    const SearchResult found = fastest(estimator, q.fixed);
    const std::string label = std::string("cp ") + r.degree + ", batch " +
                              count(q.workload.global_batch * q.workload.sequence) + " tokens";
    if (found.best) {
      const TimeEntry<>& ring = found.best->time[TimeTerm::kContext];
      table.rows.push_back(row(label, found.best->memory.total(),
                               canonical(found.best->plan) + ": ring " + format(ring.time) + ", exposed " +
                                   format(ring.exposed()) + ", step " + format(found.best->step)));
    } else if (found.census.nearest_miss) {
      table.rows.push_back(row(label, found.census.nearest_miss->memory.total(), "does not fit"));
    }
    table.commands.push_back(command);
  }
  return table;
}

}  // namespace

DrillSolution solve_long_context(const DrillReader& reader) {
  DrillSolution s = planned(reader, long_plan(), long_on_one());
  s.tables = {layer_table(long_memory_of(reader)), degree_table(reader),
              plan_table("the plan", *s.findings.result.best, {long_plan()})};
  return s;
}

std::optional<std::string> wrong_long_context(const std::optional<Plan>& plan, const DrillReader& reader) {
  return wrong_training_plan(plan, reader.question(long_plan()));
}

namespace {

constexpr std::array kScenarios{
    DrillScenario{
        "A", "it fits, but it is slow",
        "A model of 8 B parameters (llama3-8b: 32 layers, hidden 4096, 32 heads, sequence 4096) trains on one "
        "GPU with micro-batch 1 and selective recomputation; check that it fits, and how closely. A step of "
        "one sequence takes 700 ms. It is wanted 40 times faster, on all 64 GPUs. Batches above about 2 M "
        "tokens are believed to be wasted.",
        solve_scale_out, wrong_scale_out},
    DrillScenario{
        "B", "five times too large for a GPU",
        "A model of 65 B parameters (80 layers, hidden 8192, 64 heads, sequence 4096) is to be trained from "
        "scratch on the 64 GPUs. Its state alone is about five GPUs' memory.",
        solve_large_state, wrong_large_state},
    DrillScenario{
        "C", "a context of 128 Ki tokens",
        "Scenario A's model and cluster, with a sequence of 131072 tokens instead of 4096, 8 sequences a "
        "batch. Work out the activations of one layer before anything else.",
        solve_long_context, wrong_long_context},
    DrillScenario{
        "D", "serving with a latency bound",
        "Drill 1's model of 175 B parameters answers chats: at most 25 ms for each output token, with 1 to 8 "
        "sequences decoded together, each of up to 2048 tokens. Whole nodes may be used for a replica.",
        solve_serving, wrong_serving}};

}  // namespace
}  // namespace drill

std::span<const DrillScenario> parallelism_scenarios() { return drill::kScenarios; }

}  // namespace shardplan
