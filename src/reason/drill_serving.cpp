// Drill 2, scenario D: serve 175 B parameters under 25 ms for each output token.
#include "reason/drill_parallelism.h"
#include "reason/drill_parts.h"
#include "reason/serve_answer.h"
#include "search/serve_search.h"
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
  ServeCost<> node, one;    // tp 8 at batch 8 and at batch 1
  ServeCost<> half, twice;  // tp 4 and tp 16 at batch 8
  CommCost<> across;        // one all-reduce over 16 GPUs, both ways
};

Serving prepare(const DrillReader& reader) {
  const auto cost = [&](std::int64_t tensor, std::int64_t batch) {
    const ServeQuestion q = reader.serving(serve(tensor, batch));
    return serve_plan(q, {tensor, 1, 1}, *q.batch).cost;
  };
  Serving s;
  s.asked = reader.serving(serve(kNode, kBatch));
  s.question = s.asked.question;
  s.node = cost(kNode, kBatch);
  s.one = cost(kNode, 1);
  s.half = cost(kNode / 2, kBatch);
  s.twice = cost(2 * kNode, kBatch);
  s.across = comm_cost<double>(
      reader.communication(all_reduce_two_tiers(2 * kNode, s.node.time.all_reduces.message)));
  return s;
}

DrillTable weight_table(const Serving& s) {
  DrillTable table{"memory of a replica on one node", {}, {serve(kNode, kBatch)}};
  const Bytes<> weights = s.node.memory.total_weights(), usable = s.question.cluster.usable();
  table.rows = {row("weights, bf16", kNode * 1.0 * weights, "one GPU has " + format(usable) + " usable"),
                row("on each of 8 GPUs", weights),
                row("key-value cache of a token", kNode * 1.0 * s.node.memory.token),
                row("cache of 8 x 2048 tokens, on each GPU", s.node.kept),
                row("together on each GPU", s.node.held(), "of " + format(usable) + " usable")};
  return table;
}

DrillTable message_table(const Serving& s) {
  DrillTable table{"one all-reduce of decode, 8 GPUs of a node", {}, {}};
  for (const ServeCost<>* c : {&s.one, &s.node}) {
    const AllReduces<>& reduces = c->time.all_reduces;
    const CollectiveCost<double>& cost = reduces.one;
    table.rows.push_back(row(format(reduces.message), cost.total(),
                             format_percent((cost.latency_term / cost.total()).raw()) + " of it latency"));
    table.commands.push_back(all_reduce(reduces.message));
  }
  return table;
}

DrillTable across_table(const Serving& s) {
  DrillTable table{"the same over 16 GPUs of two nodes",
                   {},
                   {all_reduce_two_tiers(2 * kNode, s.node.time.all_reduces.message)}};
  for (const CommWay<>& way : s.across.ways) {
    table.rows.push_back(row(name(way.algorithm), way.time(),
                             format(s.node.time.all_reduces.count * way.time()) + " for a token's " +
                                 format(s.node.time.all_reduces.count)));
  }
  return table;
}

void add_step_rows(const std::string& label, const ServeCost<>& c, DrillTable& table) {
  const TokenTime<>& t = c.time;
  table.rows.push_back(row(label, c.tpot,
                           "weights " + format(t.weights) + ", cache " + format(t.cache) + ", " +
                               format(t.all_reduces.count) + " all-reduces " +
                               format(t.all_reduces.total())));
}

DrillTable decode_table(const Serving& s) {
  DrillTable table{"time of each output token (decode)", {}, {}};
  add_step_rows("tp 4, batch 8", s.half, table);
  add_step_rows("tp 8, batch 1", s.one, table);
  add_step_rows("tp 8, batch 8", s.node, table);
  add_step_rows("tp 16 over two nodes, batch 8", s.twice, table);
  table.rows.push_back(row("tp 8, batch 8: reading weights", s.node.time.weights));
  table.rows.push_back(row("tp 8, batch 8: reading the cache", s.node.time.cache));
  table.rows.push_back(row("tp 8, batch 8: all-reduces", s.node.time.all_reduces.total()));
  table.rows.push_back(row("tp 8, batch 8: output of a replica", s.node.throughput));
  table.commands = {serve(kNode / 2, kBatch), serve(kNode, 1), serve(kNode, kBatch),
                    serve(2 * kNode, kBatch)};
  return table;
}

DrillTable prefill_table(const Serving& s) {
  DrillTable table{"time of one prompt of 2,048 tokens (prefill)", {}, {serve(kNode, kBatch)}};
  const TokenTime<>& t = s.node.time;
  const Seconds<> arithmetic = t.prompt_products + t.prompt_scores;
  table.rows = {
      row("matrix products", t.prompt_products), row("attention of the prompt", t.prompt_scores),
      row("all-reduces", t.prompt_all_reduces.total()),
      row("prompt", t.prompt(), format_percent((arithmetic / t.prompt()).raw()) + " of it arithmetic")};
  return table;
}

}  // namespace

DrillSolution solve_serving(const DrillReader& reader) {
  const Serving s = prepare(reader);
  const ServeAnswer served = serve_answer(s.asked);
  DrillSolution solution;
  solution.gpus = kGpus;
  solution.asked = solution.binds = serve(kNode, kBatch);
  solution.plan = served.shown().plan;
  solution.findings = served.findings;
  solution.tables = {weight_table(s), message_table(s), decode_table(s), prefill_table(s), across_table(s)};
  solution.given = given_figures(s.question.cluster);
  solution.given.push_back(row("limit of a token", kTokenLimit));
  solution.given.push_back(row_tokens("a context", static_cast<double>(kContext)));
  solution.given.push_back(row("traffic between replicas", bytes_per_s(0)));
  return solution;
}

std::optional<std::string> wrong_serving(const std::optional<Plan>& plan, const DrillReader& reader) {
  const ServeQuestion asked = reader.serving(serve(kNode, kBatch));
  const Question& q = asked.question;
  if (!plan)
    return "a plan exists: tp " + count(kNode) + " in each node, " + count(kGpus / kNode) + " replicas";
  if (auto product = wrong_product(*plan, kGpus)) return product;
  if (auto heads = wrong_heads(q, plan->tp)) return heads;
  const ServeCost<> c = serve_plan(asked, {plan->tp, 1, 1}, kBatch).cost;
  const Bytes<> held = c.held() / (1.0 * plan->pp * plan->cp), usable = q.cluster.usable();
  if (held > usable) {
    return "weights and cache are " + format(held) + " on each GPU, " + format(usable) + " usable";
  }
  if (c.tpot > kTokenLimit) {
    return "tp " + count(plan->tp) + " takes " + format(c.tpot) + " for each token at batch " +
           count(kBatch) + ", the limit is " + format(kTokenLimit);
  }
  return std::nullopt;
}

}  // namespace shardplan::drill
