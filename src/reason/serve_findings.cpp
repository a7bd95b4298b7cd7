#include "reason/serve_findings.h"

#include <algorithm>

#include "reason/bisect.h"
#include "reason/sentence.h"
#include "reason/thresholds.h"
#include "reason/time_groups.h"
#include "units/format.h"

namespace shardplan {
namespace {

// How far a threshold is looked for.
constexpr std::int64_t kLoadFactor = 64;

std::string count(std::int64_t n) { return format_count(static_cast<double>(n)); }

std::string load_words(const ServeQuestion& q) {
  return counted(q.batch, "sequence") + " of " + counted(q.context(), "token");
}

/// Terms of a step that are bought off by the same thing.
struct Group {
  std::string kind;
  Seconds<> time;
  Sentence words;
};

std::vector<Group> step_groups(const ServeQuestion& q, const DecodeCost<>& c) {
  const bool arithmetic = c.compute > c.weight_read;
  Sentence cache("reading the cache of "), weights("reading "), steps("steps of "), content("bytes of "),
      reduces;
  cache << stated("cache", c.kv_gpu);
  weights << stated("weights", c.weights_gpu) << " of weights and " << stated("cache", c.kv_gpu)
          << " of cache (" << stated("weight_read", c.weight_read) << " and "
          << stated("cache_read", c.kv_read) << ")";
  std::vector<Group> groups{
      {"hbm_bandwidth", arithmetic ? c.kv_read : c.weight_read + c.kv_read, arithmetic ? cache : weights}};
  if (arithmetic) groups.push_back({"compute", c.compute, Sentence("matrix products")});
  reduces << stated_count("all_reduces", c.all_reduces.raw()) << " all-reduces of "
          << stated("message", c.message);
  groups.push_back({"latency", c.all_reduces * c.all_reduce.cost.latency_term, steps << reduces});
  groups.push_back({"link:" + q.question.cluster.tiers[c.all_reduce.paced_by].name,
                    c.all_reduces * c.all_reduce.cost.bandwidth_term, content << reduces});
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.time > b.time; });
  return groups;
}

void add_limit(const ServeQuestion& q, const ServePlan& p, Sentence& s) {
  if (!q.tpot_limit) return;
  const Seconds<> step = p.cost.step(), limit = *q.tpot_limit;
  if (p.meets) {
    s << ". The limit of " << stated("limit", limit) << " leaves " << stated("left", limit - step);
  } else {
    s << ". The token is " << stated("over", step - limit) << " over the limit of " << stated("limit", limit);
  }
}

BindingConstraint of_time(const ServeQuestion& q, const ServePlan& p) {
  const std::vector<Group> groups = step_groups(q, p.cost);
  const Group& first = groups[0];
  const Group& next = groups[1];
  Sentence s(kind_words(first.kind) + " binds: ");
  s << stated("binding", first.time) << " of the " << stated("token", p.cost.step()) << " of a token are ";
  s << first.words;
  if (next.time > seconds(0)) {
    s << ", " << stated("over_next", first.time / next.time) << " times the ";
    s << stated("next", next.time) << " of " << next.words;
  }
  add_limit(q, p, s);
  return {first.kind, s.words(),  first.time.raw(), q.tpot_limit.value_or(p.cost.step()).raw(),
          "s",        s.figures()};
}

BindingConstraint of_memory(const ServeQuestion& q, const ServePlan& p) {
  const DecodeCost<>& c = p.cost;
  Sentence s;
  if (c.weights_gpu > c.usable) {
    s << "weights bind: " << stated("weights", c.weights) << " over ";
    s << stated_counted("gpus", p.plan.tp, "GPU", "s", "GPUs") << (p.plan.tp == 1 ? " is " : " are ");
    s << stated("weights_per_gpu", c.weights_gpu) << " each, "
      << stated("over_usable", c.weights_gpu / c.usable);
    s << " times the " << stated("usable", c.usable) << " usable";
    return {"weights", s.words(), c.weights_gpu.raw(), c.usable.raw(), "bytes", s.figures()};
  }
  const Bytes<> left = c.usable - c.weights_gpu;
  s << "kv_cache binds: the cache of " + load_words(q) + " is " << stated("kv_cache", c.kv_gpu);
  s << " on each GPU, " << stated("over_left", c.kv_gpu / left) << " times the " << stated("left", left);
  s << " that weights of " << stated("weights_per_gpu", c.weights_gpu) << " leave of ";
  s << stated("usable", c.usable) << " usable: " << stated_count("concurrency", c.concurrency.raw());
  s << (c.concurrency == ratio(1) ? " fits" : " fit");
  return {"kv_cache", s.words(), c.kv_gpu.raw(), left.raw(), "bytes", s.figures()};
}

/// The first value beyond `now` at which the answer is another one.
std::optional<std::int64_t> turn(const ServeQuestion& q, const Plan& plan, std::int64_t now, bool good,
                                 std::int64_t ServeQuestion::*batch) {
  const auto differs = [&](std::int64_t value) {
    ServeQuestion other = q;
    (batch != nullptr ? other.*batch : other.question.workload.sequence) = value;
    const ServePlan p = serve_plan(other, plan);
    return (p.fits && p.meets) != good;
  };
  return bisect_integer(now, good ? kLoadFactor * now : 1, differs);
}

std::string then_words(const ServeQuestion& q, const Plan& plan, bool good) {
  const std::string replica = "tp " + count(plan.tp);
  const std::string limit = q.tpot_limit ? " within " + format(*q.tpot_limit) + " a token" : "";
  return good ? "from it on " + replica + " no longer serves" + limit
              : "up to it " + replica + " serves" + limit;
}

std::optional<Threshold> latency_threshold(const ServeQuestion& q, const ServePlan& p) {
  if (!q.tpot_limit || p.plan.tp == 1) return std::nullopt;
  const std::size_t tier = p.cost.all_reduce.tier;
  const double now = q.question.cluster.tiers[tier].latency.value.raw();
  const auto at = most_latency(q, p);
  if (!at) return std::nullopt;
  return Threshold{tier == 0 ? "latency_intra_node" : "latency_inter_node", now, at->raw(), "s",
                   "up to it tp " + count(p.plan.tp) + " keeps " + format(*q.tpot_limit) + " at batch " +
                       count(q.batch) + ", beyond it no longer"};
}

/// Heads times their width, over all layers.
double scored_width(const Model& model) {
  double sum = 0;
  for (const Layer& layer : model.layers) {
    if (const auto* a = std::get_if<Attention>(&layer.mixer))
      sum += static_cast<double>(a->heads * a->head_dim);
  }
  return sum;
}

}  // namespace

ServePlan serve_plan(const ServeQuestion& q, const Plan& plan) {
  ServePlan p;
  p.plan = plan;
  p.cost = decode_cost<double>(q.question, decode_case(q, plan));
  p.fits = p.cost.memory() <= p.cost.usable;
  p.meets = !q.tpot_limit || p.cost.step() <= *q.tpot_limit;
  return p;
}

BindingConstraint serve_binding(const ServeQuestion& q, const ServePlan& p) {
  return p.fits ? of_time(q, p) : of_memory(q, p);
}

std::vector<Threshold> serve_thresholds(const ServeQuestion& q, const ServePlan& p) {
  const bool good = p.fits && p.meets;
  std::vector<Threshold> found;
  if (good) {
    if (auto latency = latency_threshold(q, p)) found.push_back(*latency);
  }
  const std::string then = then_words(q, p.plan, good);
  if (const auto at = turn(q, p.plan, q.context(), good, nullptr)) {
    found.push_back({"context", static_cast<double>(q.context()), static_cast<double>(*at), "tokens", then});
  }
  if (const auto at = turn(q, p.plan, q.batch, good, &ServeQuestion::batch)) {
    found.push_back({"batch", static_cast<double>(q.batch), static_cast<double>(*at), "sequences", then});
  }
  sort_nearest_first(found);
  return found;
}

std::vector<Unknown> serve_unknowns(const ServeQuestion& q, const ServePlan& p) {
  const DecodeCost<>& c = p.cost;
  std::vector<Unknown> found{
      {"time_model",
       "how far these times are from measured ones: one share of the peaks for kernels of any size",
       "no error band is claimed: they have not been held against measured runs"}};
  if (p.plan.tp > 1) {
    found.push_back({"small_message_latency",
                     "what one step of a small all-reduce takes; kernels made for it skip the ring",
                     format(c.all_reduces * c.all_reduce.cost.latency_term) + " of the token"});
  }
  const bool room = q.tpot_limit && p.meets;
  found.push_back({"kernel_launch", "the host's launches and the gaps between kernels are not counted",
                   room ? format(*q.tpot_limit - c.step()) + " are left for them" : ""});
  // Causal: half of 4 s w FLOP a token and layer, beside the 2 FLOP of each parameter.
  const double scores = static_cast<double>(q.context()) * scored_width(q.question.model);
  Sentence prompt, read;
  prompt << stated_share("of_arithmetic", scores / state_parameters(q.question.model))
         << " of the arithmetic that is counted, at this context";
  found.push_back({"prompt_attention",
                   "the attention scores of the prompt are left out of the time to the first token",
                   prompt.words(), prompt.figures()});
  const Device& device = q.question.cluster.device;
  read << stated("weight_read", c.weight_read) << " at "
       << stated_share("memory_efficiency", device.efficiency.memory.value) << " of "
       << stated("memory_bandwidth", device.memory_bandwidth.value);
  found.push_back(
      {"hbm_efficiency",
       "what share of its bandwidth a matrix-vector product reaches; the figure itself is an assumption",
       read.words(), read.figures()});
  return found;
}

}  // namespace shardplan
