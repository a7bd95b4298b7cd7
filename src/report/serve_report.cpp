#include "report/serve_report.h"

#include <algorithm>

#include "catalog/parameters.h"
#include "report/finding_lines.h"
#include "report/sensitivity_report.h"
#include "report/table.h"
#include "units/format.h"

namespace shardplan {
namespace {

std::string count(std::int64_t n) { return format_count(static_cast<double>(n)); }

// Splits and points that the text shows; JSON has all.
constexpr std::size_t kRowsShown = 12;

std::string limits_words(const ServeQuestion& q) {
  std::string words;
  if (q.tpot_limit) words = format(*q.tpot_limit) + " a token";
  if (q.ttft_limit) words += (words.empty() ? "" : " and ") + format(*q.ttft_limit) + " to the first";
  if (q.rate) words += (words.empty() ? "" : ", ") + format_number(q.rate->raw()) + " requests a second";
  return words;
}

std::string headline(const ServeAnswer& a) {
  const ServePlan& p = a.shown();
  const ServeCost<>& c = p.cost;
  const std::string plan = serve_plan_words(p), load = load_words(a);
  const Bytes<> room = c.memory.total_weights() + c.room.pool;
  const std::string each = format(c.held()) + " of " + format(room) + " for weights and cache on each GPU";
  const bool several = a.plans().size() > 1;
  if (!p.fits) {
    return std::string(several ? "nothing fits: the least is " : "does not fit: ") + plan + " with " + each +
           ", " + format(c.held() - room) + " too much (" + load + ")\n";
  }
  const std::string token = plan + " takes " + format(c.tpot) + " a token (TPOT)" +
                            (a.question.ttft_limit ? ", " + format(p.ttft) + " to the first (TTFT)" : "") +
                            (a.question.rate ? ", on " + counted(static_cast<double>(p.gpus()), "GPU") : "");
  const std::string limits = limits_words(a.question);
  if (!p.meets) {
    return std::string(several ? "nothing meets " : "misses ") + limits + ": " +
           (several ? "the fastest that fits, " : "") + token + " (" + load + "); it needs " + each + "\n";
  }
  return (limits.empty() ? "fits: " : "meets " + limits + ": ") + token + " (" + load + "); it needs " +
         each + "\n";
}

std::string question_lines(const ServeAnswer& a) {
  const Question& q = a.question.question;
  std::string text = "model    " + q.model.name + ": " + format_count(state_parameters(q.model)) +
                     " parameters, " + a.question.format.name + "\n" + "plan     " +
                     serve_plan_words(a.shown()) + " on " + count(q.cluster.gpus) + " x " +
                     q.cluster.device.name + "\n";
  if (a.question.memory.rule == PoolRule::kReserve)
    return text + "reserve  " + reserve_words(q.cluster) + "\n";
  text += "engine   " + a.question.memory.name + ", " + a.domain.words + "\n";
  const std::string band = serve_band_words(a);
  return band.empty() ? text : text + "error    " + band + "\n";
}

std::string engine_lines(const ServeAnswer& a) {
  std::string text;
  for (const std::string& line : a.engine.sentences) text += "  " + line + "\n";
  if (!text.empty()) text = "\nwhat " + a.question.memory.name + " would print\n" + text;
  if (a.engine.error.empty()) return text;
  text += "  it would not start: " + a.engine.error + "\n";
  for (const EngineFix& fix : a.engine.fixes)
    text += "  with " + fix.flag + " it starts: " + fix.price + "\n";
  return text;
}

std::string memory_table(const ServeAnswer& a) {
  const ServeCost<>& c = a.shown().cost;
  Table table;
  for (std::size_t i = 0; i < kWeightKindCount; ++i) {
    const auto kind = static_cast<WeightKind>(i);
    if (!(c.memory.weights[i] > bytes(0))) continue;
    table.row({std::string("weights: ") + name(kind), format(c.memory.weights[i]),
               format_number(bits_of(a.question.format, kind)) + " bits each"});
  }
  table.row({"key-value cache", format(c.kept), cache_words(a)});
  table.row(
      {"total", format(c.held()), "of " + format(c.memory.total_weights() + c.room.pool) + " for both"});
  if (c.room.peak > bytes(0))
    table.row({"peak of the warm-up", format(c.room.peak), "beside them, kept free"});
  if (c.room.outside > bytes(0))
    table.row({"outside the allocator", format(c.room.outside), "context, communicators"});
  return "memory of each GPU\n" + table.text("  ", true) + "  " + capacity_words(a) + "\n";
}

std::string terms_table(const std::vector<ServeTerm>& terms, Seconds<> total, const char* name) {
  Table table;
  for (const ServeTerm& term : terms) {
    table.row({term.name, format(term.time), term.hidden ? "" : format_percent((term.time / total).raw()),
               term.hidden ? "beside the other, hidden" : term.note});
  }
  table.row({name, format(total)});
  return table.text("  ", true);
}

std::string plan_table(const ServeAnswer& a) {
  std::vector<const ServePlan*> shown;
  for (const ServePlan& p : a.plans()) shown.push_back(&p);
  if (shown.size() > kRowsShown) {
    std::stable_sort(shown.begin(), shown.end(),
                     [&](const ServePlan* x, const ServePlan* y) { return better(a.question, *x, *y); });
  }
  Table table("l");
  table.row({"split", "GPUs", "batch", "memory", "TPOT", "TTFT", "tokens/s a GPU", "at once", ""});
  for (std::size_t i = 0; i < std::min(shown.size(), kRowsShown); ++i) {
    const ServePlan& p = *shown[i];
    table.row({serve_split_words(p.split) + (p.prefill ? ", prompts apart" : ""), count(p.gpus()),
               count(p.batch), format(p.cost.held()), format(p.cost.tpot), format(p.ttft),
               format_number(p.tokens_per_gpu().raw()), format_count(p.cost.room.requests.raw()),
               &p == &a.shown() && a.feasible() ? "best" : verdict_words(p)});
  }
  const std::string more = shown.size() > kRowsShown ? "the " + count(kRowsShown) + " best splits of " +
                                                           count(static_cast<std::int64_t>(shown.size()))
                                                     : "every legal split";
  return more + "\n" + table.text("  ", true);
}

std::string front_table(const ServeAnswer& a) {
  const std::vector<ServePlan>& front = a.search.front;
  if (front.size() < 2) return "";
  Table table("l");
  table.row({"split", "batch", "tokens/s a user", "tokens/s a GPU", "TTFT"});
  const std::size_t step = (front.size() + kRowsShown - 1) / kRowsShown;
  for (std::size_t i = 0; i < front.size(); i += step) {
    const ServePlan& p = front[i];
    table.row({serve_split_words(p.split), count(p.batch), format_number(1 / p.cost.tpot.raw()),
               format_number(p.tokens_per_gpu().raw()), format(p.ttft)});
  }
  return "\nthe front: no split and batch makes more tokens of a GPU at as many of a user\n" + table.text();
}

std::string prefill_lines(const ServePlan& p) {
  if (!p.prefill) return "";
  const PrefillPool& pool = *p.prefill;
  return "prompts  " + counted(static_cast<double>(pool.replicas), "replica") + " of " +
         serve_split_words(pool.split) + ", busy " + format_percent(pool.busy.raw()) + "; " +
         format(pool.cost.time.prompt()) + " a prompt, " + format(pool.cost.transfer) +
         " to send its cache of " + format(pool.cost.memory.request) + " a GPU\n";
}

std::string output_lines(const ServeAnswer& a) {
  const ServePlan& p = a.shown();
  std::string text = "\noutput   " + format(p.cost.throughput) + " a replica, " + format(p.tokens_per_gpu()) +
                     " a GPU" + (a.question.output > 0 ? "" : ", when the batch is full at every step") +
                     "\n";
  if (p.requests > per_s(0))
    text += "requests " + format_number(p.requests.raw()) + " a second, all replicas\n";
  return text + prefill_lines(p);
}

const char* definition(const ServeQuestion& q) {
  return q.percentile ? "of the told share of requests" : "the mean over requests";
}

/// A term with what of it hides, as the breakdowns of every command have it.
Json terms_json(const std::vector<ServeTerm>& terms) {
  Json list = Json::array();
  for (const ServeTerm& term : terms) {
    list.push_back({{"name", term.id},
                    {"time_s", term.time.raw()},
                    {"hidden_s", term.hidden ? term.time.raw() : 0.0},
                    {"exposed_s", term.hidden ? 0.0 : term.time.raw()}});
  }
  return list;
}

Json weights_json(const ServeCost<>& c) {
  constexpr std::array kIds{"attention_bytes", "mlp_bytes", "experts_bytes", "other_bytes"};
  Json json;
  for (std::size_t i = 0; i < kWeightKindCount; ++i) json[kIds[i]] = c.memory.weights[i].raw();
  return json;
}

Json prefill_pool_json(const ServePlan& p) {
  if (!p.prefill) return nullptr;
  const PrefillPool& pool = *p.prefill;
  return {{"tp", pool.split.tensor},
          {"pp", pool.split.pipeline},
          {"dp_attention", pool.split.data},
          {"replicas", pool.replicas},
          {"busy", pool.busy.raw()},
          {"prompt_s", pool.cost.time.prompt().raw()},
          {"transfer_s", pool.cost.transfer.raw()}};
}

/// Cache figures are per replica, those that end in per_gpu are not.
Json serve_plan_json(const ServeAnswer& a, const ServePlan& p) {
  const ServeCost<>& c = p.cost;
  // A token is in one group of attention.
  const double gpus = static_cast<double>(p.split.gpus() / p.split.data);
  Json json{
      {"plan", plan_json(p.plan)},
      {"engine", a.question.memory.rule == PoolRule::kReserve ? Json(nullptr) : Json(a.question.memory.name)},
      {"fits", p.fits},
      {"meets_limits", p.meets},
      {"replicas", p.replicas},
      {"dp_attention", p.split.data},
      {"gpus", p.gpus()},
      {"batch_sequences", p.batch},
      {"weights_bytes", c.memory.total_weights().raw() * static_cast<double>(p.split.gpus())},
      {"weights_bytes_per_gpu", c.memory.total_weights().raw()},
      {"weights_by_kind_per_gpu", weights_json(c)},
      {"kv_bytes_per_token", c.memory.token.raw() * gpus},
      {"kv_bytes_per_gpu", c.kept.raw()},
      {"total_bytes_per_gpu", c.held().raw()},
      {"usable_bytes", (c.memory.total_weights() + c.room.pool).raw()},
      {"headroom_bytes_per_gpu", (c.room.pool - c.kept).raw()},
      {"pool_bytes_per_gpu", c.room.pool.raw()},
      {"warm_up_bytes_per_gpu", c.room.peak.raw()},
      {"kv_capacity_tokens",
       static_cast<std::int64_t>(c.room.tokens.raw() * static_cast<double>(p.split.data))},
      {"max_concurrency", static_cast<std::int64_t>(c.room.requests.raw())},
      {"ttft_s", p.ttft.raw()},
      {"tpot_s", c.tpot.raw()},
      {"tokens_per_s", p.tokens().raw() / static_cast<double>(p.replicas)},
      {"tokens_per_s_per_gpu", p.tokens_per_gpu().raw()},
      {"tokens_per_s_per_user", 1 / c.tpot.raw()},
      {"requests_per_s", p.requests > per_s(0) ? Json(p.requests.raw()) : Json(nullptr)},
      {"message_bytes", c.time.all_reduces.message.raw()},
      {"all_reduces", static_cast<std::int64_t>(c.time.all_reduces.count.raw())},
      {"all_reduce_s", c.time.all_reduces.one.total().raw()},
      {"all_reduces_s", c.time.all_reduces.total().raw()},
      {"prefill_message_bytes", c.time.prompt_all_reduces.message.raw()},
      {"prefill_all_reduce_s", c.time.prompt_all_reduces.one.total().raw()},
      {"prefill_all_reduces_s", c.time.prompt_all_reduces.total().raw()}};
  json["prefill_pool"] = prefill_pool_json(p);
  json["prefill_breakdown"] = terms_json(first_token_terms(p));
  json["decode_breakdown"] = terms_json(token_terms(p));
  return json;
}

Json front_point_json(const ServePlan& p) {
  return {{"plan", plan_json(p.plan)},
          {"dp_attention", p.split.data},
          {"batch_sequences", p.batch},
          {"tpot_s", p.cost.tpot.raw()},
          {"ttft_s", p.ttft.raw()},
          {"tokens_per_s_per_user", 1 / p.cost.tpot.raw()},
          {"tokens_per_s_per_gpu", p.tokens_per_gpu().raw()}};
}

Json error_band_json(const ServeAnswer& a) {
  const auto& band = a.findings.step_band;
  if (!band) return nullptr;
  const double tpot = a.shown().cost.tpot.raw();
  return {{"low_s", band->low(tpot)},
          {"high_s", band->high(tpot)},
          {"rows", band->rows},
          {"share", kTimeBandShare},
          {"of", band->name}};
}

Json engine_json(const ServeAnswer& a) {
  if (a.question.memory.rule == PoolRule::kReserve) return nullptr;
  Json fixes = Json::array();
  for (const EngineFix& fix : a.engine.fixes) fixes.push_back({{"flag", fix.flag}, {"price", fix.price}});
  return {{"name", a.question.memory.name},
          {"prints", a.engine.sentences},
          {"starts", a.engine.error.empty()},
          {"error", a.engine.error.empty() ? Json(nullptr) : Json(a.engine.error)},
          {"fixes", fixes}};
}

Json workload_json(const ServeQuestion& q) {
  const auto seconds_or_null = [](const std::optional<Seconds<>>& s) {
    return s ? Json(s->raw()) : Json(nullptr);
  };
  return {{"batch_sequences", q.batch ? Json(*q.batch) : Json(nullptr)},
          {"context_tokens", q.context()},
          {"input_tokens", q.input},
          {"output_tokens", q.output > 0 ? Json(q.output) : Json(nullptr)},
          {"tpot_limit_s", seconds_or_null(q.tpot_limit)},
          {"ttft_limit_s", seconds_or_null(q.ttft_limit)},
          {"percentile", q.percentile ? Json(*q.percentile) : Json(nullptr)},
          {"requests_per_s", q.rate ? Json(q.rate->raw()) : Json(nullptr)},
          {"objective", name(q.goal)},
          {"mode", name(q.place)},
          {"tpot_definition", "time of an output token after the first, " + std::string(definition(q))},
          {"ttft_definition", "from arrival to the first token, " + std::string(definition(q))}};
}

void add_term(std::vector<ServeTerm>& terms, ServeTerm term) {
  if (term.time > seconds(0)) terms.push_back(std::move(term));
}

}  // namespace

std::vector<ServeTerm> token_terms(const ServePlan& p) {
  const TokenTime<>& t = p.cost.time;
  const bool arithmetic = t.products > t.weights;
  const Ratio<> made = t.accepted;
  std::vector<ServeTerm> terms;
  add_term(terms, {"reading the weights", "weight_read", t.weights / made, arithmetic});
  add_term(terms, {"matrix products", "compute", t.products / made, !arithmetic});
  add_term(terms, {"reading the cache", "kv_read", t.cache / made});
  add_term(terms, {"hidden vectors", "hidden_traffic", t.traffic / made});
  add_term(terms, {"kernels' floor", "kernel_floor", t.floor / made});
  add_term(terms, {"host", "host", t.host / made});
  add_term(terms, {"latency of all-reduces", "all_reduce_latency", t.all_reduces.latency() / made, false,
                   all_reduce_words(t.all_reduces)});
  add_term(terms, {"bytes of all-reduces", "all_reduce_bandwidth", t.all_reduces.content() / made});
  add_term(terms, {"tokens to experts", "expert_exchange", t.exchange / made});
  add_term(terms, {"sends between stages", "pipeline_sends", t.sends / made});
  add_term(terms, {"guessing ahead", "drafts", t.drafts / made});
  add_term(terms, {"other requests' prompts", "prefill_interference", p.cost.tpot - t.step_token()});
  return terms;
}

std::vector<ServeTerm> first_token_terms(const ServePlan& p) {
  const TokenTime<>& t = p.prefill ? p.prefill->cost.time : p.cost.time;
  const Seconds<> transfer = p.prefill ? p.prefill->cost.transfer : seconds(0);
  std::vector<ServeTerm> terms;
  add_term(terms, {"matrix products", "compute", t.prompt_products});
  add_term(terms, {"attention of the prompt", "attention", t.prompt_scores});
  add_term(terms, {"hidden vectors", "hidden_traffic", t.prompt_traffic});
  add_term(terms, {"latency of all-reduces", "all_reduce_latency", t.prompt_all_reduces.latency(), false,
                   all_reduce_words(t.prompt_all_reduces)});
  add_term(terms, {"bytes of all-reduces", "all_reduce_bandwidth", t.prompt_all_reduces.content()});
  add_term(terms, {"tokens to experts", "expert_exchange", t.prompt_exchange});
  add_term(terms, {"sends between stages", "pipeline_sends", t.prompt_sends});
  // Less than rounding is no wait.
  constexpr double kNoise = 1e-12;
  const Seconds<> wait = p.ttft - t.prompt() - transfer;
  if (wait > p.ttft * kNoise) add_term(terms, {"waiting for prompts before it", "queue", wait});
  add_term(terms, {"sending the cache", "kv_transfer", transfer});
  return terms;
}

std::string serve_plan_words(const ServePlan& p) {
  return serve_split_words(p.split) + ", " + counted(static_cast<double>(p.replicas), "replica") +
         (p.prefill ? " beside " + counted(static_cast<double>(p.prefill->replicas), "replica") +
                          " that compute prompts (" + serve_split_words(p.prefill->split) + ")"
                    : "");
}

std::string load_words(const ServeAnswer& a) {
  const ServeQuestion& q = a.question;
  const std::string batch = "batch " + count(a.shown().batch);
  if (!(q.output > 0)) return batch + ", context " + format_count(q.input);
  return batch + ", " + format_count(q.input) + " tokens in, " + format_count(q.output) + " out";
}

std::string reserve_words(const Cluster& cluster) {
  return format(cluster.reserve()) + " of " + format(cluster.device.memory_reported.value) +
         " (context, communication buffers, fragmentation)";
}

std::string cache_words(const ServeAnswer& a) {
  return count(a.shown().batch) + " x " + counted(request_tokens(a.question), "token") + " of " +
         format(a.shown().cost.memory.token) + " each on a GPU, " +
         format(a.shown().cost.memory.token *
                static_cast<double>(a.shown().split.gpus() / a.shown().split.data)) +
         (a.shown().split.data > 1 ? " over its group" : " over the replica");
}

std::string capacity_words(const ServeAnswer& a) {
  const ServeCost<>& c = a.shown().cost;
  return "the cache of a replica holds " +
         counted(c.room.tokens.raw() * static_cast<double>(a.shown().split.data), "token") + ": " +
         counted(c.room.requests.raw(), "sequence") + " of " + format_count(request_tokens(a.question)) +
         " at once";
}

std::string serve_band_words(const ServeAnswer& a) {
  const auto& band = a.findings.step_band;
  if (!band) return "";
  const double tpot = a.shown().cost.tpot.raw();
  return "8 in 10 of " + counted(static_cast<double>(band->rows), "measured run") + " (" + band->name +
         ") took " + range_text(*band) + " the prediction: " + format(seconds(band->low(tpot))) + " to " +
         format(seconds(band->high(tpot))) + " a token";
}

std::string all_reduce_words(const AllReduces<>& reduces) {
  const CollectiveCost<double>& one = reduces.one;
  return counted(reduces.count.raw(), "all-reduce") + " of " + format(reduces.message) + ", " +
         format(one.total()) + " each, " + format_percent((one.latency_term / one.total()).raw()) +
         " of it latency; " + format(reduces.total()) + " together";
}

const char* verdict_words(const ServePlan& p) {
  if (!p.fits) return "does not fit";
  return p.meets ? "" : "misses the limit";
}

std::string serve_text(const ServeAnswer& a) {
  const ServePlan& p = a.shown();
  std::string text =
      headline(a) + a.findings.binding.statement + "\n\n" + question_lines(a) + engine_lines(a) + "\n";
  text += memory_table(a) + "\n";
  text += "the time of each output token (TPOT), " + std::string(definition(a.question)) +
          (p.fits ? "" : ", were there room") + "\n" + terms_table(token_terms(p), p.cost.tpot, "token") +
          "\n";
  text += "the time to the first token (TTFT) of " + counted(a.question.input, "token") + ", " +
          definition(a.question) + "\n" + terms_table(first_token_terms(p), p.ttft, "first token");
  text += output_lines(a);
  if (a.plans().size() > 1) text += "\n" + plan_table(a);
  text += front_table(a) + token_sensitivity_lines(a.findings.sensitivity, p.cost.tpot) +
          finding_lines(a.findings);
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
  json["best"] = a.feasible() ? serve_plan_json(a, a.shown()) : Json(nullptr);
  json["pareto"] = Json::array();
  for (const ServePlan& p : a.search.front) json["pareto"].push_back(front_point_json(p));
  json["plans"] = Json::array();
  for (const ServePlan& p : a.plans()) json["plans"].push_back(serve_plan_json(a, p));
  json["search"] = {{"judged", a.search.judged}};
  json["engine"] = engine_json(a);
  json["measured_domain"] = {
      {"inside", a.domain.runs > 0}, {"runs", a.domain.runs}, {"statement", a.domain.words}};
  json["error_band"] = error_band_json(a);
  add_findings(a.findings, json);
  json["sensitivity"] = sensitivity_json(a.findings);
  json["nearest_measured"] = nearest_json(a.findings.nearest);
  json["model"] = model_json(q.model, state_parameters(q.model));
  json["cluster"] = cluster_json(q.cluster);
  json["workload"] = workload_json(a.question);
  json["assumed"] = q.assumed;
  json["notes"] = q.notes;
  return json;
}

ServeCost<Traced> traced_cost(const ServeAnswer& a) {
  const ServePlan& p = a.shown();
  const ServeShape shape(a.question.question.model, p.split, a.question.format);
  return serve_cost<Traced>(a.question, shape, {p.batch, p.prefill.has_value()});
}

TraceRoots serve_roots(const ServeAnswer& a, const ServeCost<Traced>& c) {
  TraceRoots roots{{"weights of each GPU", c.memory.total_weights().raw().shared()},
                   {"room for the cache", c.room.pool.raw().shared()},
                   {"key-value cache", c.kept.raw().shared()},
                   {"memory of each GPU", c.held().raw().shared()},
                   {"memory left free", (c.room.pool - c.kept).raw().shared()},
                   {"sequences at once", c.room.requests.raw().shared()},
                   {"time of each output token", c.tpot.raw().shared()},
                   {"time of one prompt", c.time.prompt().raw().shared()},
                   {"output of a replica", c.throughput.raw().shared()}};
  if (!a.shown().prefill) roots.emplace_back("time to the first token", c.ttft.raw().shared());
  return roots;
}

}  // namespace shardplan
