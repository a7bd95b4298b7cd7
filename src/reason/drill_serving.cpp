// Drill 2, scenario D: serve 175 B parameters under 25 ms for each output token.
#include "reason/drill_parallelism.h"
#include "reason/drill_parts.h"
#include "reason/serve_findings.h"
#include "units/format.h"

namespace shardplan::drill {
namespace {

// The scenario's own facts.
constexpr Seconds<> kTokenLimit = milliseconds(25);
constexpr std::int64_t kGpus = 64, kNode = 8, kBatch = 8, kContext = 2048;

DrillCommand serve(std::int64_t tensor, std::int64_t batch) {
  return {"serve",
          {{"--params", "175"},
           {"--layers", "96"},
           {"--hidden", "12288"},
           {"--heads", "96"},
           {"--seq", std::to_string(kContext)},
           {"--gpus", std::to_string(kGpus)},
           {"--tp", std::to_string(tensor)},
           {"--batch", std::to_string(batch)},
           {"--tpot-ms", format_number((kTokenLimit / milliseconds(1)).raw())}}};
}

DrillCommand all_reduce(Bytes<> message) {
  return {"comm",
          {{"--gpus", "8"}, {"--bw", "300"}, {"--latency", "5"}, {"--bytes", format_plain(message.raw())}}};
}

DrillCommand all_reduce_two_tiers(std::int64_t ranks, Bytes<> message) {
  return {"comm",
          {{"--gpus", std::to_string(ranks)},
           {"--gpus-per-node", "8"},
           {"--bw-intra", "300"},
           {"--latency-intra", "5"},
           {"--bw-inter", "50"},
           {"--latency-inter", "15"},
           {"--bytes", format_plain(message.raw())}}};
}

struct Serving {
  ServeQuestion asked;  // tp 8 at batch 8, on the cluster of all 64 GPUs
  Question question;
  DecodeCost<> node, one;    // tp 8 at batch 8 and at batch 1
  DecodeCost<> half, twice;  // tp 4 and tp 16 at batch 8
  CommCost<> across;         // one all-reduce over 16 GPUs, both ways
};

Serving prepare(const DrillReader& reader) {
  const auto cost = [&](std::int64_t tensor, std::int64_t batch) {
    const ServeQuestion q = reader.serving(serve(tensor, batch));
    return decode_cost<double>(q.question, {tensor, q.batch, q.context()});
  };
  Serving s;
  s.asked = reader.serving(serve(kNode, kBatch));
  s.question = s.asked.question;
  s.node = cost(kNode, kBatch);
  s.one = cost(kNode, 1);
  s.half = cost(kNode / 2, kBatch);
  s.twice = cost(2 * kNode, kBatch);
  s.across = comm_cost<double>(reader.communication(all_reduce_two_tiers(2 * kNode, s.node.message)));
  return s;
}

DrillTable weight_table(const Serving& s) {
  DrillTable table{"memory of a replica on one node", {}, {serve(kNode, kBatch)}};
  table.rows = {row("weights, bf16", s.node.weights, "one GPU has " + format(s.node.usable) + " usable"),
                row("on each of 8 GPUs", s.node.weights_gpu),
                row("key-value cache of a token", s.node.kv_token),
                row("cache of 8 x 2048 tokens, on each GPU", s.node.kv_gpu),
                row("together on each GPU", s.node.memory(), "of " + format(s.node.usable) + " usable")};
  return table;
}

DrillTable message_table(const Serving& s) {
  DrillTable table{"one all-reduce of decode, 8 GPUs of a node", {}, {}};
  for (const DecodeCost<>* c : {&s.one, &s.node}) {
    const CollectiveCost<double>& cost = c->all_reduce.cost;
    table.rows.push_back(row(format(c->message), cost.total(),
                             format_percent((cost.latency_term / cost.total()).raw()) + " of it latency"));
    table.commands.push_back(all_reduce(c->message));
  }
  return table;
}

DrillTable across_table(const Serving& s) {
  DrillTable table{
      "the same over 16 GPUs of two nodes", {}, {all_reduce_two_tiers(2 * kNode, s.node.message)}};
  for (const CommWay<>& way : s.across.ways) {
    table.rows.push_back(
        row(name(way.algorithm), way.time(),
            format(s.node.all_reduces * way.time()) + " for a token's " + format(s.node.all_reduces)));
  }
  return table;
}

void add_step_rows(const std::string& label, const DecodeCost<>& c, DrillTable& table) {
  table.rows.push_back(row(label, c.step(),
                           "weights " + format(c.weight_read) + ", cache " + format(c.kv_read) + ", " +
                               format(c.all_reduces) + " all-reduces " + format(c.communication())));
}

DrillTable step_table(const Serving& s) {
  DrillTable table{"time for each output token, and of one prompt", {}, {}};
  add_step_rows("tp 4, batch 8", s.half, table);
  add_step_rows("tp 8, batch 1", s.one, table);
  add_step_rows("tp 8, batch 8", s.node, table);
  add_step_rows("tp 16 over two nodes, batch 8", s.twice, table);
  table.rows.push_back(row("tp 8, batch 8: output of a replica", s.node.throughput));
  table.rows.push_back(row("tp 8: a prompt of 2048 tokens (prefill)", s.node.prefill(),
                           "arithmetic " + format(s.node.prefill_compute) + ", all-reduces " +
                               format(s.node.prefill_all_reduce())));
  table.commands = {serve(kNode / 2, kBatch), serve(kNode, 1), serve(kNode, kBatch),
                    serve(2 * kNode, kBatch)};
  return table;
}

/// Bandwidth inside the node at which the byte part of the all-reduces would use up what the limit leaves.
BytesPerSecond<> least_bandwidth(const Serving& s) {
  const auto fits = [&](double bandwidth) {
    Question q = s.question;
    q.cluster.tiers.front().bandwidth.value = bytes_per_s(bandwidth);
    return decode_cost<double>(q, {kNode, kBatch, kContext}).step() <= kTokenLimit;
  };
  const double now = s.question.cluster.tiers.front().bandwidth.value.raw();
  return bytes_per_s(bisect(now / 1e4, now, fits).value_or(now));
}

void add_findings(const Serving& s, Answer& a) {
  const DecodeCost<>& c = s.node;
  const Tier& inner = s.question.cluster.tiers.front();
  const CommWay<>& ring = s.across.ways.front();
  a.binding = {"latency",
               "latency binds: " + format(c.all_reduces) + " all-reduces of " +
                   format(c.all_reduce.cost.total()) + " are " + format(c.communication()) + " of the " +
                   format(kTokenLimit) + " a token may take (" +
                   format_percent((c.all_reduce.cost.latency_term / c.all_reduce.cost.total()).raw()) +
                   " of each is steps, not bytes); reading weights adds " + format(c.weight_read) +
                   ", the cache " + format(c.kv_read) + ": " + format(c.step()),
               c.communication().raw(), kTokenLimit.raw(), "s"};
  a.axes = {{"tp", kNode, inner.name, least_bandwidth(s), inner.bandwidth.value,
             "divides the weights that each token reads: " + format(c.weights_gpu) + " a GPU instead of " +
                 format(c.weights) + ", " + format(c.weight_read) + " at " +
                 format(s.question.cluster.device.memory_bandwidth.value) + "; its messages of " +
                 format(c.message) + " need the " + format(inner.latency.value) + " steps of a node"},
            {"dp", kGpus / kNode, s.question.cluster.tiers.back().name, bytes_per_s(0),
             s.question.cluster.tiers.back().bandwidth.value,
             count(kGpus / kNode) + " independent replicas of 8 GPUs, each " + format(c.throughput) +
                 "; they exchange nothing, so 0 B/s between nodes is enough"}};
  a.not_used = {
      {"tp across nodes", "16 GPUs halve the weight read to " + format(s.twice.weight_read) +
                              ", but one ring over two nodes takes " + format(ring.time()) + ", " +
                              format(s.node.all_reduces * ring.time()) +
                              " a token; even reduced in each node first it is " +
                              format(s.twice.communication()) + " and the token " + format(s.twice.step()) +
                              ", no faster than " + format(c.step()) + " on half the GPUs"},
      {"pp", "stages work one after the other on a token: the weight read stays " + format(c.weight_read) +
                 " and each boundary adds " + format(s.question.cluster.tiers.back().latency.value)},
      {"cp", "a context of " + count(kContext) + " tokens is " + format(c.kv_gpu) +
                 " of cache a GPU at batch " + count(kBatch) + ": nothing to divide"}};
}

void add_risks(const Serving& s, Answer& a) {
  const DecodeCost<>& c = s.node;
  a.failure_modes = {
      {"prefill_interference",
       "prefill is bound by arithmetic (" + format(c.prefill_compute) + " of " + format(c.prefill()) +
           "), decode by bandwidth and latency; both share the replica, and a prompt of " + count(kContext) +
           " tokens stops every running answer for " + format(c.prefill()),
       "answers pause for about " + format_number((c.prefill() / c.step()).raw()) +
           " tokens whenever a prompt arrives: the 99th percentile leaves the median",
       "99th percentile of the time between tokens, beside prompts a second"},
      {"margin",
       "the limit leaves " + format(kTokenLimit - c.step()) + " at batch 8 for all that is left out",
       "time for each token creeps over " + format(kTokenLimit) + " as contexts grow",
       "time between tokens against tokens in the cache"}};
}

}  // namespace

DrillSolution solve_serving(const DrillReader& reader) {
  const Serving s = prepare(reader);
  DrillSolution solution;
  solution.gpus = kGpus;
  Plan plan;
  plan.tp = static_cast<std::int32_t>(kNode);
  plan.dp = static_cast<std::int32_t>(kGpus / kNode);
  solution.plan = plan;
  add_findings(s, solution.findings);
  add_risks(s, solution.findings);
  const ServePlan served = serve_plan(s.asked, plan);
  solution.findings.thresholds = serve_thresholds(s.asked, served);
  solution.findings.unknowns = serve_unknowns(s.asked, served);
  solution.figures = {row("all-reduces of a token", s.node.communication()),
                      row("one all-reduce", s.node.all_reduce.cost.total()), row("a token", s.node.step())};
  solution.tables = {weight_table(s), message_table(s), step_table(s), across_table(s)};
  return solution;
}

std::optional<std::string> wrong_serving(const std::optional<Plan>& plan, const DrillReader& reader) {
  const Question q = reader.serving(serve(kNode, kBatch)).question;
  if (!plan)
    return "a plan exists: tp " + count(kNode) + " in each node, " + count(kGpus / kNode) + " replicas";
  if (auto product = wrong_product(*plan, kGpus)) return product;
  if (auto heads = wrong_heads(q, plan->tp)) return heads;
  const DecodeCost<> c = decode_cost<double>(q, {plan->tp, kBatch, kContext});
  const Bytes<> held = c.memory() / (1.0 * plan->pp * plan->cp);
  if (held > c.usable) {
    return "weights and cache are " + format(held) + " on each GPU, " + format(c.usable) + " usable";
  }
  if (c.step() > kTokenLimit) {
    return "tp " + count(plan->tp) + " takes " + format(c.step()) + " for each token at batch " +
           count(kBatch) + ", the limit is " + format(kTokenLimit);
  }
  return std::nullopt;
}

}  // namespace shardplan::drill
