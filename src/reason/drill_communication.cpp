// Drill 3: what a collective costs, and whether the step feels it.
#include <array>

#include "reason/drill_parts.h"
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
  if (b.way().required) table.rows.push_back(row("bandwidth needed to hide", *b.way().required));
  return table;
}

DrillSolution common(const Budget& b, const char* axis) {
  DrillSolution s;
  s.gpus = b.ranks;
  Plan plan;
  (std::string(axis) == "tp" ? plan.tp : plan.dp) = static_cast<std::int32_t>(b.ranks);
  s.plan = plan;
  s.findings.axes = {{axis, b.ranks, b.tier().name, b.way().required, b.tier().bandwidth.value, ""}};
  s.findings.unknowns = {
      unknown("algorithm", "rings only: trees, in-network reduction and protocol switches are left out",
              format(b.way().cost.latency_term) + " of latency depend on it"),
      unknown("contention", "other traffic on the same links, and compute slowed by the collective's kernels",
              "none is counted in " + format(b.way().time()))};
  return s;
}

/// The least bandwidth, from what there is, at which the step no longer feels the reduction; or the largest
/// at which it does.
Threshold hiding_threshold(const Budget& b, bool exposed_now) {
  const double now = b.tier().bandwidth.value.raw();
  const auto exposed_at = [&](double bandwidth) {
    CommQuestion q = b.question;
    q.cluster.tiers.back().bandwidth.value = bytes_per_s(bandwidth);
    return comm_cost<double>(q).best().exposed->raw() > 0;
  };
  const auto at = exposed_now ? bisect(now, 100 * now, [&](double w) { return !exposed_at(w); })
                              : bisect(now, now / 1e4, exposed_at);
  return {"bw", now, at.value_or(now), "bytes/s",
          exposed_now ? "from it on the reduction hides" : "below it the reduction is exposed"};
}

DrillSolution solve_between(const DrillReader& reader) {
  const Budget b = budget_of(reader, between_nodes());
  const CommWay<>& way = b.way();
  DrillSolution s = common(b, "dp");
  s.findings.binding = {"link:network",
                        "the network binds: the reduction of " + format(b.cost.size) + " takes " +
                            format(way.time()) + " (" + format(way.cost.bandwidth_term) + " bandwidth, " +
                            format(way.cost.latency_term) + " latency) and only " + format(*b.cost.window) +
                            " of backward pass can cover it: " + format(*way.exposed) + " are exposed",
                        way.time().raw(), b.cost.window->raw(), "s"};
  s.findings.axes[0].tier = "network";
  s.findings.axes[0].reason = "hides from " + format(rounded_up(*way.required)) + " on; there are " +
                              format(b.tier().bandwidth.value) + ", so " + format(*way.exposed) + " show";
  s.findings.failure_modes = {{"exposed_reduction",
                               "every step pays " + format(*way.exposed) + " for the network",
                               "all GPUs idle together at the end of each backward pass",
                               "time in all-reduce after the last backward kernel"}};
  s.findings.thresholds = {hiding_threshold(b, true)};
  s.findings.not_used = {
      {"tp", "dividing the model inside a node would leave an eighth of " + format(b.cost.size) +
                 " for each GPU to reduce between nodes, but adds all-reduces that nothing hides"}};
  s.figures = {row("reduction", way.time()), row("bandwidth term", way.cost.bandwidth_term),
               row("exposed", *way.exposed), row("bandwidth needed", *way.required)};
  s.tables = {cost_table("gradients of 7 B parameters over 64 GPUs between nodes", b)};
  return s;
}

DrillSolution solve_inside(const DrillReader& reader) {
  const Budget b = budget_of(reader, inside_node({{"--params", "7"}, {"--step-ms", "700"}}));
  const CommWay<>& way = b.way();
  DrillSolution s = common(b, "dp");
  s.findings.binding = {"compute",
                        "compute binds: the reduction takes " + format(way.time()) + " and hides in " +
                            format(*b.cost.window) + " of backward pass, " + format(*way.slack) +
                            " to spare; the step stays " + format(b.question.step->value),
                        way.time().raw(), b.cost.window->raw(), "s"};
  s.findings.axes[0].tier = "node";
  s.findings.axes[0].reason =
      "needs " + format(rounded_up(*way.required)) + " to hide and has " + format(b.tier().bandwidth.value);
  s.findings.failure_modes = {
      {"late_buckets", "hiding assumes gradients that are ready evenly over the backward pass",
       "the last bucket's reduction shows after the backward pass, about one bucket long",
       "time from the last backward kernel to the optimizer"}};
  s.findings.thresholds = {hiding_threshold(b, false)};
  s.findings.not_used = {{"zero", "sharding would move the same " + format(b.cost.size) +
                                      " in two halves; the " + format(way.time()) +
                                      " are hidden either way"}};
  s.figures = {row("reduction", way.time()), row("bandwidth needed", *way.required),
               row("slack", *way.slack)};
  s.tables = {cost_table("gradients of 7 B parameters over the 8 GPUs of a node", b)};
  return s;
}

/// All-reduces that wait in the middle of a layer: nothing hides them.
DrillSolution solve_exposed_message(const Budget& b, const std::string& title, const std::string& message) {
  const CommWay<>& way = b.way();
  DrillSolution s = common(b, "tp");
  const bool latency = b.latency_share() > 0.5;
  s.findings.axes[0].tier = "node";
  s.findings.axes[0].reason = message + " takes " + format(way.time()) + " on " +
                              format(b.tier().bandwidth.value) + " and " + format(b.tier().latency.value) +
                              " a step, " + format_percent(b.latency_share()) + " of it latency";
  s.findings.binding = {
      latency ? "latency" : "link:node",
      std::string(latency ? "latency binds: " : "the node's link binds: ") + message + " takes " +
          format(way.time()) + ", " + format(way.cost.latency_term) + " of it steps and " +
          format(way.cost.bandwidth_term) + " bytes; the layer waits for it",
      way.time().raw(), (latency ? way.cost.latency_term : way.cost.bandwidth_term).raw(), "s"};
  // Where both terms are the same the message stops being one kind and becomes the other.
  const auto bytes_bind = [&](double size) {
    CommQuestion q = b.question;
    q.size.value = bytes(size);
    const CommCost<> cost = comm_cost<double>(q);
    return cost.best().cost.bandwidth_term > cost.best().cost.latency_term;
  };
  const double now = b.cost.size.raw();
  const auto turn = latency ? bisect(now, 1e6 * now, bytes_bind)
                            : bisect(now, now / 1e6, [&](double size) { return !bytes_bind(size); });
  if (turn) {
    s.findings.thresholds = {
        {"bytes", now, *turn, "bytes", latency ? "above it bandwidth decides" : "below it latency decides"}};
  }
  s.figures = {row("all-reduce", way.time()), row("latency term", way.cost.latency_term),
               row("bandwidth term", way.cost.bandwidth_term), row_ratio("latency share", b.latency_share())};
  s.tables = {cost_table(title, b)};
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
      solve_exposed_message(b, "one tensor-parallel all-reduce of 65 B in training (s 4096, h 8192, bf16)",
                            "an all-reduce of " + format(b.cost.size));
  const Question q = reader.question(whole_training());
  const Estimator estimator(q);
  const DrillSolution whole = engine_solution(estimator, b.ranks);
  for (const AxisFinding& x : whole.findings.axes) {
    if (x.axis != "tp") continue;
    s.findings.axes[0].required_bandwidth = x.required_bandwidth;
    s.findings.axes[0].reason += "; in the whole step " + x.reason;
  }
  s.findings.failure_modes = {{"tensor_across_nodes", "the bet is that the group never leaves its node",
                               "layer times several times as long after a job is placed on other nodes",
                               "time in tensor-parallel all-reduce by layer"}};
  s.findings.not_used = {
      {"tp across nodes",
       "the same bytes at " + format(gigabytes_per_s(50)) + " take " +
           format(b.way().cost.bandwidth_term * (b.tier().bandwidth.value / gigabytes_per_s(50)).raw()) +
           " for 8 ranks, four times a layer"}};
  if (whole.plan) {
    s.tables.push_back(plan_table("the step it is part of", *whole.findings.result.best, {whole_training()}));
  }
  return s;
}

DrillSolution solve_decode(const DrillReader& reader, const char* size) {
  const Budget b = budget_of(reader, inside_node({{"--bytes", size}}));
  DrillSolution s =
      solve_exposed_message(b, "one tensor-parallel all-reduce in decode, " + format(b.cost.size),
                            "an all-reduce of " + format(b.cost.size));
  s.findings.failure_modes = {
      {"more_ranks",
       "the bet is on few ranks: each one more adds two steps of " + format(b.tier().latency.value),
       "time for each token goes up when GPUs are added to a replica",
       "time of one small all-reduce against ranks"}};
  s.findings.not_used = {{"faster links", "twice the bandwidth saves " +
                                              format(b.way().cost.bandwidth_term * 0.5) + " of " +
                                              format(b.way().time())}};
  return s;
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
