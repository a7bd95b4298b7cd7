#include "report/serve_report.h"

#include "catalog/parameters.h"
#include "report/finding_lines.h"
#include "report/table.h"
#include "units/format.h"

namespace shardplan {
namespace {

std::string count(std::int64_t n) { return format_count(static_cast<double>(n)); }

std::string load_words(const ServeQuestion& q) {
  return "batch " + count(q.batch) + ", context " + count(q.context());
}

std::string headline(const ServeAnswer& a) {
  const ServePlan& p = a.shown();
  const DecodeCost<>& c = p.cost;
  const std::string tp = "tp " + count(p.plan.tp), load = load_words(a.question);
  const std::string each = format(c.memory()) + " of " + format(c.usable) + " usable on each GPU";
  if (!p.fits) {
    return std::string(a.plans.size() > 1 ? "nothing fits: the least is " : "does not fit: ") + tp +
           " with " + each + ", " + format(c.memory() - c.usable) + " too much (" + load + ")\n";
  }
  const std::string token = tp + " takes " + format(c.step()) + " a token (TPOT)";
  if (!p.meets) {
    return std::string(a.plans.size() > 1 ? "nothing meets " : "misses ") + format(*a.question.tpot_limit) +
           ": " + (a.plans.size() > 1 ? "the fastest that fits, " : "") + token + " (" + load +
           "); it needs " + each + "\n";
  }
  return (a.question.tpot_limit ? "meets " + format(*a.question.tpot_limit) + ": " : "fits: ") + token +
         " (" + load + "); it needs " + each + "\n";
}

std::string question_lines(const ServeAnswer& a) {
  const Question& q = a.question.question;
  const Plan& plan = a.shown().plan;
  return "model    " + q.model.name + ": " + format_count(state_parameters(q.model)) + " parameters\n" +
         "plan     " + serve_plan_words(plan) + " on " + count(q.cluster.gpus) + " x " +
         q.cluster.device.name + "\n" + "reserve  " + reserve_words(q.cluster) + "\n";
}

std::string memory_table(const ServeAnswer& a) {
  const DecodeCost<>& c = a.shown().cost;
  Table table;
  table.row({"weights", format(c.weights_gpu), weights_words(a)});
  table.row({"key-value cache", format(c.kv_gpu), cache_words(a)});
  table.row({"total", format(c.memory()), "of " + format(c.usable) + " usable"});
  return "memory of each GPU\n" + table.text("  ", true) + "  " + capacity_words(a) + "\n";
}

std::string step_table(const ServePlan& p) {
  const DecodeCost<>& c = p.cost;
  const bool arithmetic = c.compute > c.weight_read;
  const auto beside = [&](bool hidden) { return hidden ? "beside the other, hidden" : ""; };
  Table table;
  const auto share = [&](Seconds<> t) { return format_percent((t / c.step()).raw()); };
  table.row({"reading the weights", format(c.weight_read), arithmetic ? "" : share(c.weight_read),
             beside(arithmetic)});
  table.row({"matrix products", format(c.compute), arithmetic ? share(c.compute) : "", beside(!arithmetic)});
  table.row({"reading the cache", format(c.kv_read), share(c.kv_read), ""});
  if (c.all_reduces > ratio(0)) {
    table.row({counted(c.all_reduces.raw(), "all-reduce"), format(c.communication()),
               share(c.communication()), all_reduce_words(c)});
  }
  table.row({"step", format(c.step())});
  return std::string("one decode step: the time of each output token (TPOT)") +
         (p.fits ? "" : ", were there room") + "\n" + table.text("  ", true);
}

std::string prompt_table(const ServeAnswer& a) {
  const DecodeCost<>& c = a.shown().cost;
  Table table;
  table.row({"arithmetic", format(c.prefill_compute)});
  if (c.all_reduces > ratio(0)) table.row({"all-reduces", format(c.prefill_all_reduce())});
  table.row({"prompt", format(c.prefill())});
  return "one prompt of " + count(a.question.context()) + " tokens: the time to the first token (TTFT)\n" +
         table.text();
}

std::string plan_table(const ServeAnswer& a) {
  Table table;
  table.row({"tp", "memory", "TPOT", "TTFT", "tokens/s a GPU", "sequences at once", ""});
  for (std::size_t i = 0; i < a.plans.size(); ++i) {
    const ServePlan& p = a.plans[i];
    table.row({count(p.plan.tp), format(p.cost.memory()), format(p.cost.step()), format(p.cost.prefill()),
               format_number(p.tokens_per_gpu().raw()), format_count(p.cost.concurrency.raw()),
               i == a.chosen && a.feasible() ? "best" : verdict_words(p)});
  }
  return "every legal degree\n" + table.text("  ", true);
}

/// A term with what of it hides, as the breakdowns of every command have it.
Json term_json(const char* name, Seconds<> time, Seconds<> hidden = seconds(0)) {
  return {{"name", name},
          {"time_s", time.raw()},
          {"hidden_s", hidden.raw()},
          {"exposed_s", (time - hidden).raw()}};
}

Json decode_json(const DecodeCost<>& c) {
  const bool arithmetic = c.compute > c.weight_read;
  return {term_json("weight_read", c.weight_read, arithmetic ? c.weight_read : seconds(0)),
          term_json("compute", c.compute, arithmetic ? seconds(0) : c.compute),
          term_json("kv_read", c.kv_read),
          term_json("all_reduce_latency", c.all_reduces * c.all_reduce.cost.latency_term),
          term_json("all_reduce_bandwidth", c.all_reduces * c.all_reduce.cost.bandwidth_term)};
}

Json prefill_json(const DecodeCost<>& c) {
  return {term_json("compute", c.prefill_compute),
          term_json("all_reduce_latency", c.all_reduces * c.prompt_all_reduce.cost.latency_term),
          term_json("all_reduce_bandwidth", c.all_reduces * c.prompt_all_reduce.cost.bandwidth_term)};
}

/// Cache figures are per replica, those that end in per_gpu are not.
Json serve_plan_json(const ServePlan& p) {
  const DecodeCost<>& c = p.cost;
  return {{"plan", plan_json(p.plan)},
          {"engine", nullptr},
          {"fits", p.fits},
          {"meets_tpot", p.meets},
          {"weights_bytes", c.weights.raw()},
          {"weights_bytes_per_gpu", c.weights_gpu.raw()},
          {"kv_bytes_per_token", c.kv_token.raw()},
          {"kv_bytes_per_gpu", c.kv_gpu.raw()},
          {"total_bytes_per_gpu", c.memory().raw()},
          {"usable_bytes", c.usable.raw()},
          {"headroom_bytes_per_gpu", (c.usable - c.memory()).raw()},
          {"kv_capacity_tokens", static_cast<std::int64_t>(c.kv_capacity.raw())},
          {"max_concurrency", static_cast<std::int64_t>(c.concurrency.raw())},
          {"ttft_s", c.prefill().raw()},
          {"tpot_s", c.step().raw()},
          {"tokens_per_s", c.throughput.raw()},
          {"tokens_per_s_per_gpu", p.tokens_per_gpu().raw()},
          {"message_bytes", c.message.raw()},
          {"all_reduces", static_cast<std::int64_t>(c.all_reduces.raw())},
          {"all_reduces_s", c.communication().raw()},
          {"prefill_all_reduces_s", c.prefill_all_reduce().raw()},
          {"prefill_breakdown", prefill_json(c)},
          {"decode_breakdown", decode_json(c)}};
}

}  // namespace

std::string serve_plan_words(const Plan& plan) {
  return "tp " + count(plan.tp) + ", " + counted(plan.dp, "replica");
}

std::string reserve_words(const Cluster& cluster) {
  return format(cluster.reserve()) + " of " + format(cluster.device.memory_reported.value) +
         " (context, communication buffers, fragmentation)";
}

std::string weights_words(const ServeAnswer& a) {
  return format(a.shown().cost.weights) + " over " + counted(a.shown().plan.tp, "GPU");
}

std::string cache_words(const ServeAnswer& a) {
  return count(a.question.batch) + " x " + counted(a.question.context(), "token") + " of " +
         format(a.shown().cost.kv_token) + " each, over the replica";
}

std::string capacity_words(const ServeAnswer& a) {
  const DecodeCost<>& c = a.shown().cost;
  return "the cache of a replica holds " + counted(c.kv_capacity.raw(), "token") + ": " +
         counted(c.concurrency.raw(), "sequence") + " of " + count(a.question.context()) + " at once";
}

std::string all_reduce_words(const DecodeCost<>& c) {
  const CollectiveCost<double>& one = c.all_reduce.cost;
  return format(one.total()) + " each for " + format(c.message) + ", " +
         format_percent((one.latency_term / one.total()).raw()) + " of it latency" +
         (c.all_reduce.hierarchical ? ", tier by tier" : "");
}

const char* verdict_words(const ServePlan& p) {
  if (!p.fits) return "does not fit";
  return p.meets ? "" : "misses the limit";
}

std::string serve_text(const ServeAnswer& a) {
  const ServePlan& p = a.shown();
  std::string text = headline(a) + a.findings.binding.statement + "\n\n" + question_lines(a) + "\n";
  text += memory_table(a) + "\n" + step_table(p) + "\n" + prompt_table(a);
  text += "\noutput   " + format(p.cost.throughput) + " a replica, " + format(p.tokens_per_gpu()) +
          " a GPU, when the batch is full at every step\n";
  if (a.plans.size() > 1) text += "\n" + plan_table(a);
  text += finding_lines(a.findings);
  const Question& q = a.question.question;
  if (!q.notes.empty()) text += "\nnotes\n";
  for (const std::string& line : q.notes) text += "  " + line + "\n";
  text += "\nassumed\n";
  for (const std::string& line : q.assumed) text += "  " + line + "\n";
  return text;
}

Json serve_json(const ServeAnswer& a) {
  const Question& q = a.question.question;
  Json json{{"schema_version", kSchemaVersion}, {"feasible", a.feasible()}};
  json["best"] = a.feasible() ? serve_plan_json(a.shown()) : Json(nullptr);
  json["pareto"] = Json::array();
  for (const std::size_t i : a.pareto) json["pareto"].push_back(serve_plan_json(a.plans[i]));
  json["plans"] = Json::array();
  for (const ServePlan& p : a.plans) json["plans"].push_back(serve_plan_json(p));
  add_findings(a.findings, json);
  json["model"] = model_json(q.model, state_parameters(q.model));
  json["cluster"] = cluster_json(q.cluster);
  json["workload"] = {
      {"batch_sequences", a.question.batch},
      {"context_tokens", a.question.context()},
      {"tpot_limit_s", a.question.tpot_limit ? Json(a.question.tpot_limit->raw()) : Json(nullptr)}};
  json["assumed"] = q.assumed;
  json["notes"] = q.notes;
  return json;
}

TraceRoots serve_roots(const DecodeCost<Traced>& c) {
  TraceRoots roots{{"memory of each GPU", c.memory().raw().shared()},
                   {"usable", c.usable.raw().shared()},
                   {"memory left free", (c.usable - c.memory()).raw().shared()},
                   {"sequences at once", c.concurrency.raw().shared()},
                   {"time of each output token", c.step().raw().shared()},
                   {"time of one prompt", c.prefill().raw().shared()},
                   {"output of a replica", c.throughput.raw().shared()}};
  return roots;
}

}  // namespace shardplan
