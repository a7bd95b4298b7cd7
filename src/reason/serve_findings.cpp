#include "reason/serve_findings.h"

#include <algorithm>

#include "catalog/parameters.h"
#include "reason/sentence.h"
#include "reason/time_groups.h"
#include "units/format.h"

namespace shardplan {
namespace {

std::string load_words(const ServePlan& p, const ServeQuestion& q) {
  return counted(static_cast<double>(p.batch), "request") + " of " + counted(request_tokens(q), "token");
}

/// Terms of a token, or of a prompt, that are bought off by the same thing.
struct Group {
  std::string kind;
  Seconds<> time;
  Sentence words;
};

std::string link_kind(const ServeQuestion& q, const AllReduces<>& reduces) {
  return "link:" + q.question.cluster.tiers[reduces.paced_by].name;
}

Sentence reduces_said(const char* start, const AllReduces<>& reduces) {
  Sentence s(start);
  s << stated_count("all_reduces", reduces.count.raw()) << " all-reduces of "
    << stated("message", reduces.message);
  return s;
}

void sort_largest_first(std::vector<Group>& groups) {
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.time > b.time; });
}

std::vector<Group> token_groups(const ServeQuestion& q, const ServePlan& p) {
  const TokenTime<>& t = p.cost.time;
  const bool arithmetic = t.products > t.weights;
  Sentence reads(arithmetic ? "reading the cache of " : "reading ");
  if (!arithmetic) {
    reads << stated("weights", p.cost.memory.total_weights()) << " of weights and ";
  }
  reads << stated("cache", p.cost.kept);
  if (!arithmetic) {
    reads << " of cache (" << stated("weight_read", t.weights) << " and " << stated("cache_read", t.cache)
          << ")";
  }
  std::vector<Group> groups{
      {"hbm_bandwidth", (arithmetic ? t.cache : t.weights + t.cache) + t.traffic, reads}};
  if (arithmetic) groups.push_back({"compute", t.products, Sentence("matrix products")});
  groups.push_back({"latency", t.all_reduces.latency(), reduces_said("steps of ", t.all_reduces)});
  groups.push_back(
      {link_kind(q, t.all_reduces), t.all_reduces.content(), reduces_said("bytes of ", t.all_reduces)});
  groups.push_back({"host", t.floor + t.host, Sentence("kernels that move little, and the host")});
  Sentence exchanged("tokens to their experts and back");
  groups.push_back({"link:" + q.question.cluster.tiers.back().name, t.exchange + t.sends, exchanged});
  groups.push_back({"hbm_bandwidth", t.drafts, Sentence("guessing tokens ahead")});
  for (Group& group : groups) group.time = group.time / t.accepted;
  Sentence prompts("prompts of other requests, ");
  prompts << stated("prompt", t.prompt()) << " each";
  groups.push_back({"prefill_interference", p.cost.tpot - t.step_token(), prompts});
  sort_largest_first(groups);
  return groups;
}

/// Of the time to the first token.
std::vector<Group> first_groups(const ServeQuestion& q, const ServePlan& p) {
  const TokenTime<>& t = p.prefill ? p.prefill->cost.time : p.cost.time;
  Sentence products("arithmetic of a prompt of ");
  products << stated_counted("input", q.input, "token");
  std::vector<Group> groups{{"compute", t.prompt_products + t.prompt_scores, products}};
  groups.push_back(
      {"latency", t.prompt_all_reduces.latency(), reduces_said("steps of ", t.prompt_all_reduces)});
  groups.push_back({link_kind(q, t.prompt_all_reduces),
                    t.prompt_all_reduces.content() + t.prompt_exchange + t.prompt_sends,
                    reduces_said("bytes of ", t.prompt_all_reduces)});
  groups.push_back({"hbm_bandwidth", t.prompt_traffic, Sentence("hidden vectors of the prompt")});
  groups.push_back({"prefill_interference", p.ttft - t.prompt(), Sentence("waiting for prompts before it")});
  sort_largest_first(groups);
  return groups;
}

void add_limit(const std::optional<Seconds<>>& limit, Seconds<> time, const char* what, Sentence& s) {
  if (!limit) return;
  if (time <= *limit) {
    s << ". The limit of " << stated("limit", *limit) << " leaves " << stated("left", *limit - time);
  } else {
    s << std::string(". The ") + what + " is " << stated("over", time - *limit) << " over the limit of "
      << stated("limit", *limit);
  }
}

BindingConstraint of_groups(const std::vector<Group>& groups, Seconds<> whole, const char* of,
                            const std::optional<Seconds<>>& limit, const char* what) {
  const Group& first = groups[0];
  const Group& next = groups[1];
  Sentence s(kind_words(first.kind) + " binds: ");
  s << stated("binding", first.time) << " of the " << stated("token", whole) << std::string(of);
  s << first.words;
  if (next.time > seconds(0)) {
    s << ", " << stated("over_next", first.time / next.time) << " times the ";
    s << stated("next", next.time) << " of " << next.words;
  }
  add_limit(limit, whole, what, s);
  return {first.kind, s.words(), first.time.raw(), limit.value_or(whole).raw(), "s", s.figures()};
}

BindingConstraint of_memory(const ServeQuestion& q, const ServePlan& p) {
  const ServeCost<>& c = p.cost;
  const Bytes<> weights = c.memory.total_weights();
  Sentence s;
  if (!c.weights_fit()) {
    const Bytes<> room = weights + c.room.pool;
    s << "weights bind: " << stated("weights", weights) << " on each of "
      << stated_counted("gpus", p.split.gpus(), "GPU", "s", "GPUs") << " are "
      << stated("over_usable", weights / room) << " times the " << stated("usable", room)
      << " that are left for them and the cache";
    return {"weights", s.words(), weights.raw(), room.raw(), "bytes", s.figures()};
  }
  s << "kv_cache binds: the cache of " + load_words(p, q) + " is " << stated("kv_cache", c.kept);
  s << " on each GPU, " << stated("over_left", c.kept / c.room.pool) << " times the "
    << stated("left", c.room.pool);
  s << " that weights of " << stated("weights_per_gpu", weights)
    << " leave: " << stated_count("concurrency", c.room.requests.raw());
  s << (c.room.requests == ratio(1) ? " fits" : " fit");
  return {"kv_cache", s.words(), c.kept.raw(), c.room.pool.raw(), "bytes", s.figures()};
}

/// Where the batch was searched: what keeps one more request out.
std::optional<BindingConstraint> of_room(const ServeQuestion& q, const ServePlan& p) {
  if (q.batch || q.goal == ServeGoal::kLatency ||
      p.batch < static_cast<std::int64_t>(p.cost.room.requests.raw()))
    return std::nullopt;
  const ServeCost<>& c = p.cost;
  Sentence s("kv_cache binds: ");
  s << stated_counted("batch", p.batch, "request") << " of "
    << stated_counted("tokens", request_tokens(q), "token") << " take " << stated("kv_cache", c.kept)
    << " of the " << stated("pool", c.room.pool) << " that weights of "
    << stated("weights_per_gpu", c.memory.total_weights())
    << " leave on each GPU, and one more does not fit; a token takes " << stated("token", c.tpot);
  add_limit(q.tpot_limit, c.tpot, "token", s);
  return BindingConstraint{"kv_cache", s.words(), c.kept.raw(), c.room.pool.raw(), "bytes", s.figures()};
}

}  // namespace

BindingConstraint serve_binding(const ServeQuestion& q, const ServePlan& p) {
  if (!p.fits) return of_memory(q, p);
  const bool late_token = q.tpot_limit && p.cost.tpot > *q.tpot_limit;
  if (!late_token && q.ttft_limit && p.ttft > *q.ttft_limit)
    return of_groups(first_groups(q, p), p.ttft, " to the first token are ", q.ttft_limit, "first token");
  if (!late_token) {
    if (auto room = of_room(q, p)) return *room;
  }
  return of_groups(token_groups(q, p), p.cost.tpot, " of a token are ", q.tpot_limit, "token");
}

namespace {

void add_generic_unknowns(const ServeQuestion& q, const ServePlan& p, std::vector<Unknown>& found) {
  const TokenTime<>& t = p.cost.time;
  found.push_back(
      {"time_model",
       "how far these times are from measured ones: one share of the peaks for kernels of any size",
       "no error band is claimed without an engine"});
  if (p.plan.tp > 1) {
    const CollectiveCost<double> one_shot = one_shot_all_reduce(q.question.cluster, p.split, t.all_reduces);
    const Seconds<> all = t.all_reduces.count * one_shot.total();
    Sentence kernels;
    kernels << stated("latency", t.all_reduces.latency())
            << " of the token; a kernel that reads every peer in one step would take "
            << stated("one_shot", one_shot.total()) << " in place of "
            << stated("once", t.all_reduces.one.total()) << ", and the token "
            << stated("token", p.cost.tpot - t.all_reduces.total() + all);
    found.push_back({"small_message_latency",
                     "what one step of a small all-reduce takes; kernels made for it skip the ring",
                     kernels.words(), kernels.figures()});
  }
  const bool room = q.tpot_limit && p.meets;
  found.push_back({"kernel_launch", "the host's launches and the gaps between kernels are not counted",
                   room ? format(*q.tpot_limit - p.cost.tpot) + " are left for them" : ""});
  const Device& device = q.question.cluster.device;
  Sentence read;
  read << stated("weight_read", t.weights) << " at "
       << stated_share("memory_efficiency", device.efficiency.memory.value) << " of "
       << stated("memory_bandwidth", device.memory_bandwidth.value);
  found.push_back(
      {"hbm_efficiency",
       "what share of its bandwidth a matrix-vector product reaches; the figure itself is an assumption",
       read.words(), read.figures()});
}

Unknown band_unknown(const ServeAnswer& a) {
  const auto& band = a.findings.step_band;
  if (!band) {
    return {"time_model", "how far these times are from measured ones",
            "no run of this kind was measured: no error band is claimed"};
  }
  const Seconds<> tpot = a.shown().cost.tpot;
  Sentence s;
  s << stated("low", seconds(band->low(tpot.raw()))) << " to "
    << stated("high", seconds(band->high(tpot.raw()))) << " a token: 8 in 10 of "
    << stated_counted("rows", band->rows, "measured run")
    << " of this class lay there, each predicted by constants that had not seen its model, GPU and engine";
  Unknown unknown{"time_model", "how far these times are from measured ones", s.words(), s.figures()};
  unknown.source = "validation/serving_tpot.csv";
  return unknown;
}

void add_engine_unknowns(const ServeQuestion& q, const ServeAnswer& a, std::vector<Unknown>& found) {
  const ServePlan& p = a.shown();
  found.push_back(band_unknown(a));
  if (a.domain.runs == 0) found.push_back({"measured_domain", a.domain.words, "no run to hold it against"});
  Sentence left;
  const Bytes<> rest = p.cost.room.memory - p.cost.room.pool - p.cost.memory.total_weights() -
                       p.cost.room.peak - p.cost.room.outside;
  left << stated("left", rest) << " a GPU are outside the engine's share; captured graphs take "
       << stated("graphs", q.memory.graphs.value) << " of them";
  if (q.memory.graphs.value > bytes(0))
    found.push_back({"graphs_and_drift", "what captured graphs and the allocator's drift take while it runs",
                     left.words(), left.figures(), label(q.memory.graphs.source)});
  if (q.output > 0) {
    Sentence waits;
    const PrefillPool* pool = p.prefill ? &*p.prefill : nullptr;
    const Seconds<> queue = pool ? p.ttft - pool->cost.time.prompt() - pool->cost.transfer : p.cost.queue;
    waits << stated("queue", queue) << " of the " << stated("ttft", p.ttft)
          << " to the first token, were prompts to come at random; bursts wait longer";
    found.push_back({"arrivals", "how requests come: queues follow from it", waits.words(), waits.figures()});
  }
  const ServeShape shape(q.question.model, p.split, q.format);
  if (shape.experts > 0) {
    Sentence hit;
    hit << stated("weight_read", p.cost.time.weights) << " of weights, if all experts are equally likely";
    found.push_back({"expert_imbalance",
                     "which experts tokens go to: skewed routing reads fewer and waits for the busiest",
                     hit.words(), hit.figures()});
  }
  if (!q.graphs) {
    Sentence eager;
    eager << stated("eager", q.time.eager.value)
          << " of each all-reduce are counted; the other kernels of a layer are taken as captured";
    found.push_back({"eager_kernels", "what launching every kernel by itself takes: it depends on the host",
                     eager.words(), eager.figures(), label(q.time.eager.source)});
  }
  if (q.drafts.tokens > 0) {
    Sentence drafts;
    drafts << stated_number("accepted", q.drafts.accepted) << " tokens a step, as told";
    found.push_back({"accepted_tokens", "how many guesses hold: it depends on the text", drafts.words(),
                     drafts.figures()});
  }
}

}  // namespace

std::vector<Unknown> serve_unknowns(const ServeQuestion& q, const ServeAnswer& a) {
  std::vector<Unknown> found;
  if (q.memory.rule == PoolRule::kReserve) {
    add_generic_unknowns(q, a.shown(), found);
  } else {
    add_engine_unknowns(q, a, found);
  }
  return found;
}

}  // namespace shardplan
