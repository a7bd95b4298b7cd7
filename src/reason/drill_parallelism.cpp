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
  const Question q = reader.question(large_plan());
  const Estimator estimator(q);
  const Floor floor = state_floor(estimator);
  const DrillSolution engine = engine_solution(estimator, kGpus);
  DrillSolution s;
  s.gpus = kGpus;
  s.plan = engine.plan;
  s.findings.result = engine.findings.result;
  const Estimate& best = *s.findings.result.best;
  s.findings.binding = {"state",
                        "state binds: " + format(floor.state) +
                            " of weights, gradients and optimizer state is " +
                            format_number((floor.state / floor.usable).raw()) + " times the " +
                            format(floor.usable) + " usable on a GPU; divided over " + count(kGpus) +
                            " GPUs it is " + format(floor.state_per_gpu) + " each",
                        floor.state.raw(), floor.usable.raw(), "bytes"};
  s.figures = {row("state of the model", floor.state), row("state on each GPU", floor.state_per_gpu),
               row_ratio("state over usable memory", (floor.state / floor.usable).raw())};
  s.findings.not_used = {
      unused_axis(reader, with(large_plan(), "--tp", "8"), "tp", TimeTerm::kTensor,
                  "sharded state already fits, and tensor parallelism waits for every all-reduce"),
      unused_axis(reader, with(large_plan(), "--pp", "8"), "pp", TimeTerm::kBubble,
                  "sharded state already fits, and a pipeline keeps as many activations"),
      unused_axis(reader, with(large_plan(), "--cp", "2"), "cp", TimeTerm::kContext,
                  "activations fit without dividing the sequence")};
  const TimeEntry<>& traffic = best.time[TimeTerm::kData];
  s.findings.failure_modes = {
      {"gather_not_hidden",
       "full sharding gathers every layer's weights again for each micro-batch: " + format(traffic.time) +
           " of traffic in a step of " + format(best.step) + ", of which " + format(traffic.exposed()) +
           " is exposed as long as the network gives what it promises",
       "steps grow longer by whole gathers when another job shares the network, with GPUs waiting before a layer starts",
       "time in all-gather that no compute covers"}};
  if (const auto at = exposure_threshold(q, *s.plan)) s.findings.thresholds.push_back(*at);
  s.findings.unknowns = {
      unknown("fragmentation",
              "gathered layers of different size come and go; what the allocator loses is assumed",
              format(q.cluster.reserve_share.value * q.cluster.device.memory_reported.value)),
      unknown("logits", "the shape has no vocabulary: logits and their loss are left out",
              "6 bytes for each token and vocabulary entry")};
  add_engine_findings(engine.findings, s.findings);
  s.tables = {large_memory_table(reader, floor), plan_table("the plan", best, {large_plan()})};
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
           {"--critical-batch", "2Mtok"},
           {"--tp", "1"},
           {"--pp", "1"},
           {"--cp", "8"}}};
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
    const DrillCommand command = with(with(long_plan(), "--cp", r.degree), "--global-batch", r.batch);
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

/// The longest sequence at which one GPU's share, fully sharded without recomputation, still fits.
std::optional<std::int64_t> longest_without_context(const Question& question) {
  Plan plan;
  plan.dp = static_cast<std::int32_t>(kGpus);
  plan.zero_stage = 3;
  const auto fits = [&](std::int64_t sequence) {
    Question q = question;
    q.workload.sequence = sequence;
    const Estimator estimator(q);
    int stage = 0;
    return !estimator.broken_memory(estimator.fullest_memory<double>(plan, stage));
  };
  return bisect_integer(question.workload.sequence, 1, fits);
}

void add_long_findings(const Question& q, const LongMemory& m, const Estimate& best, Answer& a) {
  a.binding = {"activations",
               "activations bind: one layer of " + count(q.workload.sequence) + " tokens keeps " +
                   format(m.layer_paper) + " by the closed form and " + format(m.layer_ops) +
                   " with fused attention; all layers " + format(m.all_ops) + " at the least, while " +
                   format(m.usable) + " are usable and the state is " + format(m.state) + " as before",
               m.all_ops.raw(), m.usable.raw(), "bytes"};
  const TimeEntry<>& ring = best.time[TimeTerm::kContext];
  a.failure_modes = {
      {"ring_not_hidden",
       "keys and values travel around the ring of " + count(best.plan.cp) +
           " beside the attention: " + format(ring.time) + " in a step of " + format(best.step) + ", " +
           format(ring.exposed()) + " exposed while blocks stay equal",
       "some ranks of a ring wait for others, most with causal masks that are not balanced",
       "attention time by rank of the context group"},
      {"fused_attention_lost",
       "the account holds for fused attention only; kept scores take " + format(m.layer_paper) +
           " in one layer",
       "out of memory in the first forward pass after a change of mask or attention kernel",
       "allocated memory after the first layer"}};
  if (const auto longest = longest_without_context(q)) {
    a.thresholds = {
        {"sequence", static_cast<double>(q.workload.sequence), static_cast<double>(*longest), "tokens",
         "up to it a whole sequence fits one GPU without recomputation and context parallelism goes"}};
  }
  const double critical = q.workload.critical_batch_tokens;
  const double sequences = critical / static_cast<double>(q.workload.sequence);
  a.thresholds.push_back(
      {"critical_batch", critical, static_cast<double>(kGpus * q.workload.sequence), "tokens",
       "from it on every GPU may have a sequence of its own; now " + format_number(sequences) +
           " sequences are all a batch may hold, so replicas alone cannot fill " + count(kGpus) + " GPUs"});
  a.unknowns = {
      unknown("causal_balance", "how evenly the causal mask spreads work over the ring",
              "up to 2 times on the last rank when blocks are in order"),
      unknown("long_context_kernels", "what share of its peak rate fused attention reaches at this length",
              format(best.time[TimeTerm::kAttention].time) + " of the step at the full rate")};
}

}  // namespace

DrillSolution solve_long_context(const DrillReader& reader) {
  const Question q = reader.question(long_plan());
  const Estimator estimator(q);
  const LongMemory memory = long_memory_of(reader);
  const DrillSolution engine = engine_solution(estimator, kGpus);
  DrillSolution s;
  s.gpus = kGpus;
  s.plan = engine.plan;
  s.findings.result = engine.findings.result;
  const Estimate& best = *s.findings.result.best;
  add_long_findings(q, memory, best, s.findings);
  s.figures = {row("one layer, closed form", memory.layer_paper),
               row("one layer, op by op", memory.layer_ops), row("all layers, closed form", memory.all_paper),
               row("all layers, op by op", memory.all_ops)};
  const DrillCommand open = with(long_plan(), "--cp", "1");
  s.findings.not_used = {
      unused_axis(reader, with(open, "--tp", "8"), "tp", TimeTerm::kTensor,
                  "eight ways inside a node it divides activations as well, but every layer waits for it"),
      unused_axis(reader, with(open, "--pp", "8"), "pp", TimeTerm::kBubble,
                  "a pipeline holds as many micro-batches as it has stages: activations do not shrink")};
  add_engine_findings(engine.findings, s.findings);
  s.tables = {layer_table(memory), degree_table(reader), plan_table("the plan", best, {long_plan()})};
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
