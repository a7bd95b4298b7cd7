// Drill 3: what a collective costs, and whether the step feels it.
#include <array>

#include "reason/bisect.h"
#include "reason/drill_parts.h"
#include "reason/failure_kinds.h"
#include "reason/time_groups.h"
#include "units/format.h"

namespace shardplan {
namespace {

using namespace drill;

DrillCommand between_nodes() {
  return {"comm",
          {{"--gpus", "64"}, {"--bw", "50"}, {"--latency", "15"}, {"--params", "7"}, {"--step-ms", "700"}}};
}

DrillCommand inside_node(std::vector<std::pair<std::string, std::string>> size) {
  DrillCommand command{"comm", {{"--gpus", "8"}, {"--bw", "300"}, {"--latency", "5"}}};
  command.flags.insert(command.flags.end(), size.begin(), size.end());
  return command;
}

struct Budget {
  DrillCommand command;
  CommQuestion question;
  CommCost<> cost;
  std::int64_t ranks = 1;
  const CommWay<>& way() const { return cost.best(); }
  const Tier& tier() const { return question.cluster.tiers.back(); }
  /// To hide, as it is printed: one number wherever it is told.
  std::optional<BytesPerSecond<>> required() const {
    return way().required ? std::optional(rounded_up(*way().required)) : std::nullopt;
  }
  double latency_share() const { return (way().cost.latency_term / way().time()).raw(); }
};

Budget budget_of(const DrillReader& reader, const DrillCommand& command) {
  Budget b;
  b.command = command;
  b.question = reader.communication(command);
  b.cost = comm_cost<double>(b.question);
  b.ranks = static_cast<std::int64_t>(b.question.ranks.value.raw());
  return b;
}

DrillTable cost_table(const std::string& title, const Budget& b) {
  DrillTable table{title, {}, {b.command}};
  table.rows = {
      row("message", b.cost.size), row("bandwidth term", b.way().cost.bandwidth_term),
      row("latency term", b.way().cost.latency_term, format_percent(b.latency_share()) + " of the whole"),
      row("together", b.way().time())};
  if (b.cost.window) table.rows.push_back(row("window: two thirds of the step", *b.cost.window));
  if (b.way().exposed) table.rows.push_back(row("exposed", *b.way().exposed));
  if (const auto required = b.required()) table.rows.push_back(row("bandwidth needed to hide", *required));
  return table;
}

/// What a collective is there for: "dp", "the gradient reduction", over which tier.
struct Role {
  const char* axis;
  const char* words;
  const char* tier;
};

Unknown unknown(const char* id, std::string statement, const Sentence& magnitude) {
  return {id, std::move(statement), magnitude.words(), magnitude.figures()};
}

DrillSolution common(const Budget& b, const Role& role, const std::string& title) {
  DrillSolution s;
  s.gpus = b.ranks;
  s.asked = s.binds = b.command;
  Plan plan;
  (std::string(role.axis) == "tp" ? plan.tp : plan.dp) = static_cast<std::int32_t>(b.ranks);
  s.plan = plan;
  Sentence algorithm, contention;
  algorithm << stated("latency_term", b.way().cost.latency_term) << " of latency depend on it";
  contention << "none is counted in " << stated("time", b.way().time());
  s.findings.unknowns = {
      unknown("algorithm", "rings only: trees, in-network reduction and protocol switches are left out",
              algorithm),
      unknown("contention", "other traffic on the same links, and compute slowed by the collective's kernels",
              contention)};
  s.tables = {cost_table(title, b)};
  s.given = {row("bandwidth", b.tier().bandwidth.value), row("latency", b.tier().latency.value)};
  if (b.question.step) s.given.push_back(row("step", b.question.step->value));
  return s;
}

AxisFinding axis_finding(const Budget& b, const Role& role, const Sentence& reason) {
  AxisFinding axis{role.axis, b.ranks, role.tier, b.required(), b.tier().bandwidth.value, reason.words()};
  if (axis.required_bandwidth) axis.required_for = "hidden";
  axis.figures = reason.figures();
  return axis;
}

BindingConstraint binding(const std::string& kind, const Sentence& said, Seconds<> value, Seconds<> limit) {
  return {kind, kind_words(kind) + " binds: " + said.words(), value.raw(), limit.raw(), "s", said.figures()};
}

UnusedAxis unused(const char* axis, const Sentence& reason) {
  UnusedAxis found{axis, reason.words()};
  found.figures = reason.figures();
  return found;
}

/// The least bandwidth at which the step does not feel the reduction.
Threshold hiding_threshold(const Budget& b, bool exposed_now) {
  return {"bw", b.tier().bandwidth.value.raw(), b.required()->raw(), "bytes/s",
          exposed_now ? "from it on the reduction hides" : "below it the reduction is exposed"};
}

/// A reduction beside the backward pass of a step: it hides, or binds.
DrillSolution solve_beside_step(const Budget& b, const Role& role, const std::string& title) {
  const CommWay<>& way = b.way();
  const bool exposed = way.exposed->raw() > 0;
  const Seconds<> window = *b.cost.window;
  DrillSolution s = common(b, role, title);
  Sentence said(role.words);
  said << " of " << stated("message", b.cost.size) << " takes " << stated("time", way.time()) << " ("
       << stated("bandwidth_term", way.cost.bandwidth_term) << " of bytes, "
       << stated("latency_term", way.cost.latency_term) << " of latency), "
       << stated("over_window", way.time() / window) << " times the " << stated("window", window)
       << " of backward pass beside it: ";
  if (exposed) {
    said << stated("exposed", *way.exposed) << " are felt";
  } else {
    said << "all of it hides, with " << stated("slack", *way.slack) << " to spare, and the step stays "
         << stated("step", b.question.step->value);
  }
  s.findings.binding =
      binding(exposed ? std::string("link:") + role.tier : "compute", said, way.time(), window);
  Sentence needs("hides from ");
  needs << stated("required", *b.required()) << " on; there are "
        << stated("bandwidth", b.tier().bandwidth.value);
  s.findings.axes = {axis_finding(b, role, needs)};
  Sentence accepted(role.words);
  if (exposed) {
    accepted << " shows " << stated("exposed", *way.exposed) << " of itself in every step of "
             << stated("step", b.question.step->value + *way.exposed);
  } else {
    accepted << " hides as long as it has " << stated("required", *b.required()) << " of the "
             << stated("bandwidth", b.tier().bandwidth.value) << " that there are";
  }
  s.findings.failure_modes = {failure_mode(
      exposed ? "exposed_reduction" : "reduction_margin", accepted,
      "all GPUs wait together at the end of each backward pass",
      "bus bandwidth of the reduction, beside the time from the last backward kernel to the optimizer",
      {"below", stated("required", *b.required()), Sentence("it is felt")})};
  s.findings.thresholds = {hiding_threshold(b, exposed)};
  Sentence sharded("sharding moves the same ");
  sharded << stated("message", b.cost.size) << " in two halves, of which " << stated("exposed", *way.exposed)
          << " are felt either way";
  s.findings.not_used = {unused("zero", sharded)};
  return s;
}

DrillSolution solve_between(const DrillReader& reader) {
  return solve_beside_step(budget_of(reader, between_nodes()), {"dp", "the gradient reduction", "network"},
                           "gradients of 7 B parameters over 64 GPUs between nodes");
}

DrillSolution solve_inside(const DrillReader& reader) {
  return solve_beside_step(budget_of(reader, inside_node({{"--params", "7"}, {"--step-ms", "700"}})),
                           {"dp", "the gradient reduction", "node"},
                           "gradients of 7 B parameters over the 8 GPUs of a node");
}

/// Where both terms are the same the message stops being one kind and becomes the other.
std::optional<Threshold> turning_size(const Budget& b, bool latency) {
  const auto bytes_bind = [&](double size) {
    CommQuestion q = b.question;
    q.size.value = bytes(size);
    const CommCost<> cost = comm_cost<double>(q);
    return cost.best().cost.bandwidth_term > cost.best().cost.latency_term;
  };
  const double now = b.cost.size.raw();
  const auto turn = latency ? bisect(now, 1e6 * now, bytes_bind)
                            : bisect(now, now / 1e6, [&](double size) { return !bytes_bind(size); });
  if (!turn) return std::nullopt;
  return Threshold{"bytes", now, *turn, "bytes",
                   latency ? "above it bandwidth decides" : "below it latency decides"};
}

/// What a layer that no group shares is spared, and what it costs: stages instead of the group.
Sentence undivided(const Budget& b) {
  Sentence s;
  s << stated_counted("stages", b.ranks, "stage") << " of whole layers need no all-reduce and spare a layer "
    << stated("time", b.way().time())
    << " for each, but one rank computes the layer and reads its weights alone, "
    << stated_count("times_the_layer", b.ranks) << " times as much";
  return s;
}

/// An all-reduce that waits in the middle of a layer: nothing hides it.
DrillSolution solve_message(const Budget& b, const std::string& title) {
  const Role role{"tp", "the all-reduce", "node"};
  const CommWay<>& way = b.way();
  const Seconds<> latency_term = way.cost.latency_term, bandwidth_term = way.cost.bandwidth_term;
  const bool latency = latency_term > bandwidth_term;
  DrillSolution s = common(b, role, title);
  Sentence said(role.words);
  said << " of " << stated("message", b.cost.size) << " takes " << stated("time", way.time()) << ", "
       << stated("latency_term", latency_term) << " of it steps and "
       << stated("bandwidth_term", bandwidth_term) << " bytes; the layer waits for it";
  s.findings.binding =
      binding(latency ? "latency" : "link:node", said, way.time(), latency ? latency_term : bandwidth_term);
  Sentence reason(role.words);
  reason << " of " << stated("message", b.cost.size) << " takes " << stated("time", way.time()) << " on "
         << stated("bandwidth", b.tier().bandwidth.value) << " and "
         << stated("latency", b.tier().latency.value) << " a step, "
         << stated_share("latency_share", b.latency_share()) << " of it latency; twice the bandwidth saves "
         << stated("saved", bandwidth_term * 0.5);
  s.findings.axes = {axis_finding(b, role, reason)};
  if (auto turn = turning_size(b, latency)) s.findings.thresholds = {*turn};
  Sentence accepted("every layer waits "), then;
  accepted << stated("time", way.time()) << " for each of its all-reduces; each rank more adds two steps of "
           << stated("latency", b.tier().latency.value);
  const RiskFigures& risk = *b.question.risk;
  then << "a layer waits " << stated_risk(risk, &RiskFigures::felt) << " longer for it";
  s.findings.failure_modes = {failure_mode(
      "slow_all_reduce", accepted, "layers take longer once a group has more ranks or leaves its node",
      "time of one such all-reduce",
      {"above", stated("level", way.time() + way.time() * risk.felt.value), then})};
  s.findings.judged_by = judged_by(risk, s.findings.axes, s.findings.failure_modes);
  s.findings.not_used = {unused("pp", undivided(b))};
  return s;
}

/// 65 B on one node with the group: what else a layer does beside its all-reduces.
DrillCommand whole_training() {
  return {"plan",
          {{"--params", "65"},
           {"--layers", "80"},
           {"--hidden", "8192"},
           {"--heads", "64"},
           {"--seq", "4096"},
           {"--gpus", "8"},
           {"--tp", "8"},
           {"--micro-batch", "1"}}};
}

DrillSolution solve_training(const DrillReader& reader) {
  // One micro-batch of 65 B: 4096 tokens x 8192 x 2 bytes.
  const Budget b = budget_of(reader, inside_node({{"--bytes", "64MiB"}}));
  DrillSolution s =
      solve_message(b, "one tensor-parallel all-reduce of 65 B in training (s 4096, h 8192, bf16)");
  const DrillSolution whole = planned(reader, whole_training());
  for (const AxisFinding& x : whole.findings.axes) {
    if (x.axis != "tp") continue;
    // What the axis needs is known of the whole step alone.
    s.findings.axes.front().required_bandwidth = x.required_bandwidth;
    s.findings.axes.front().reason += "; in the whole step " + x.reason;
    s.findings.axes.front().figures.insert(s.findings.axes.front().figures.end(), x.figures.begin(),
                                           x.figures.end());
  }
  s.tables.push_back(plan_table("the step it is part of", *whole.findings.result.best, {whole_training()}));
  return s;
}

DrillSolution solve_decode(const DrillReader& reader, const char* size) {
  const Budget b = budget_of(reader, inside_node({{"--bytes", size}}));
  return solve_message(b, "one tensor-parallel all-reduce in decode, " + format(b.cost.size));
}

DrillSolution solve_32k(const DrillReader& reader) { return solve_decode(reader, "32768"); }
DrillSolution solve_192k(const DrillReader& reader) { return solve_decode(reader, "196608"); }

template <std::int64_t Gpus>
std::optional<std::string> wrong(const std::optional<Plan>& plan, const DrillReader&) {
  if (!plan)
    return "a collective over " + count(Gpus) + " GPUs needs no plan to exist: give the degree of its axis";
  return wrong_product(*plan, Gpus);
}

constexpr std::array kScenarios{
    DrillScenario{
        "between-nodes", "gradients between nodes",
        "Data parallelism over 64 GPUs reduces the bf16 gradients of 7 B parameters on one ring at 50 GB/s and "
        "15 us. A step takes 700 ms, two thirds of it backward. How much of the reduction is felt?",
        solve_between, wrong<64>},
    DrillScenario{"inside-node", "gradients inside a node",
                  "The same gradients over the 8 GPUs of one node at 300 GB/s and 5 us, with the same step.",
                  solve_inside, wrong<8>},
    DrillScenario{
        "tp-training", "tensor parallelism in training",
        "A micro-batch of the 65 B model (4096 tokens, hidden 8192, bf16) is all-reduced over the 8 GPUs of a "
        "node after attention and after the MLP. How large is the message, and what is its time made of?",
        solve_training, wrong<8>},
    DrillScenario{"decode-32k", "tensor parallelism in decode, 32 KiB",
                  "A decode step all-reduces 32 KiB over the same 8 GPUs. What is its time made of now?",
                  solve_32k, wrong<8>},
    DrillScenario{
        "decode-192k", "tensor parallelism in decode, 192 KiB",
        "The 175 B model at batch 8 all-reduces 192 KiB (8 x 12288 x 2 bytes). Does six times the size change "
        "the answer?",
        solve_192k, wrong<8>}};

}  // namespace

std::span<const DrillScenario> communication_scenarios() { return kScenarios; }

}  // namespace shardplan
